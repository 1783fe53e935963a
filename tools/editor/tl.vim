" Tile kernels are Python syntax.
autocmd BufNewFile,BufRead *.tl setfiletype python
