/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * job.h - one relay as it was asked for.
 *
 * Filled by the option parser or by libvirt's argv forms, constant afterwards.
 * Strings are borrowed from argv.  Nothing here says what really happened:
 * that is the report (report.h).
 */
#ifndef IOH_JOB_H
#define IOH_JOB_H

#include <stdbool.h>
#include <stdint.h>

#define IOH_UNSET UINT64_MAX /* a size or offset that was not given */

enum ioh_mode { IOH_MODE_OPERATOR, IOH_MODE_LIBVIRT, IOH_MODE_LIBRARY };

enum ioh_direction { IOH_SAVE, IOH_RESTORE };

enum ioh_cache { IOH_CACHE_AUTO, IOH_CACHE_DIRECT, IOH_CACHE_DROP, IOH_CACHE_KEEP };

/* DEFAULT: full for an atomic save, data in place and in libvirt's forms,
 * none for `save -`. */
enum ioh_sync { IOH_SYNC_NONE, IOH_SYNC_DATA, IOH_SYNC_FULL, IOH_SYNC_DEFAULT };

enum ioh_engine_choice { IOH_ENGINE_AUTO, IOH_ENGINE_URING, IOH_ENGINE_SPLICE, IOH_ENGINE_COPY };

enum ioh_require_choice
{
  IOH_WANT_AUTO,
  IOH_WANT_NONE,
  IOH_WANT_QEMU,
  IOH_WANT_LIBVIRT,
  IOH_WANT_ELF
};

/* Only libvirt's form of 2011 has us open FILENAME. */
struct ioh_open_2011
{
  bool used;
  int flags;           /* O_*, as libvirt passed them */
  unsigned mode;       /* permissions of a new file */
  bool delete_after;   /* unlink once read */
};

struct ioh_job
{
  enum ioh_mode mode;
  enum ioh_direction direction;
  const char *file;    /* FILE or FILENAME; "-" passes through */
  int file_fd;         /* >= 0: FILE is only its name; -1: open FILE */
  struct ioh_open_2011 open_2011;

  int cache;           /* enum ioh_cache */
  int sync;            /* enum ioh_sync */
  int engine;          /* enum ioh_engine_choice */
  int require;         /* enum ioh_require_choice */
  uint64_t buffer_size;   /* bytes, 0: the default */
  uint64_t memory;        /* bytes, 0: no cap of the user's */
  uint64_t offset;        /* bytes into FILE, IOH_UNSET: not given */
  uint64_t length;        /* at most so many bytes, IOH_UNSET: all */
  uint64_t expect_length; /* exactly so many bytes, IOH_UNSET: any */
  uint64_t size;          /* hint, IOH_UNSET: none */
  uint64_t permissions;   /* of the file made, IOH_UNSET: keep or 0600 */
  bool in_place;
  bool no_clobber;
  bool no_follow;
  bool allow_tty;
  bool quiet;
  bool verbose;

  int commit_fd;       /* -1: none */
  int manager_fd;      /* -1: none */
  int result_fd;       /* -1: none */
  const char *result;  /* NULL: none */
  const char *result_dir; /* libvirt.conf only; NULL: none */
  char **command;      /* NULL-ended; NULL: none */
};

/* A job with every option unset. */
void ioh_job_init (struct ioh_job *job);

/* True when the data goes through a descriptor that somebody handed to us. */
static inline bool
ioh_job_handed (const struct ioh_job *job)
{
  return job->file_fd >= 0 || (job->file[0] == '-' && job->file[1] == '\0');
}

#endif
