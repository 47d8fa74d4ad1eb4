/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * parse-number.c - sizes as people write them: 4096, 64K, 1M, 2GiB.
 */
#include <config.h>

#include "iohelper/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool
ioh_parse_integer (const char *text, int64_t *value)
{
  char *end;

  if (!(*text >= '0' && *text <= '9') && !(*text == '-' && text[1] >= '0' && text[1] <= '9'))
    return false;
  errno = 0;
  *value = strtoll (text, &end, 10);
  return errno == 0 && *end == '\0';
}

/* K = KiB = 1024.  KB is refused: it means 1000 to some and 1024 to others. */
bool
ioh_parse_size (const char *text, uint64_t *bytes)
{
  static const char units[] = "KMGT";
  unsigned shift = 0;
  const char *unit;
  char *end;

  if (*text < '0' || *text > '9')
    return false;
  errno = 0;
  *bytes = strtoull (text, &end, 10);
  if (errno != 0)
    return false;
  if (*end != '\0' && (unit = strchr (units, *end)) != NULL)
    {
      shift = 10 * (unsigned) (unit - units + 1);
      end++;
      if (end[0] == 'i' && end[1] == 'B')
        end += 2;
    }
  if (*end != '\0' || *bytes > (uint64_t) INT64_MAX >> shift)
    return false;
  *bytes <<= shift;
  return true;
}
