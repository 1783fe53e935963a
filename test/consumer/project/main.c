#include "scale.h"

#include <stdio.h>

int main(void) {
  float a[300], b[300];
  int i;
  tlc_status status;
  for (i = 0; i < 300; ++i)
    a[i] = (float)i;
  status = scale(a, b, 300, NULL, 0, NULL);
  if (status != TLC_OK) {
    printf("%s\n", scale_last_error());
    return 1;
  }
  for (i = 0; i < 300; ++i)
    if (b[i] != b[1] * (float)i)
      return 2;
  printf("factor %g\n", (double)b[1]);
  return 0;
}
