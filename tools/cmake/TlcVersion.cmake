# The one place that says which version this is.
set(TLC_VERSION 0.1.0)
