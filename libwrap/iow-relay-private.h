/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay-private.h - the relay's own data, for the files that make it up:
 * iow-relay.c (the object), iow-relay-props.c (its properties),
 * iow-relay-init.c (its start), iow-relay-ops.c (what is done with it),
 * iow-relay-result.c (what became of it).
 */
#ifndef IOW_RELAY_PRIVATE_H
#define IOW_RELAY_PRIVATE_H

#include "libwrap/iow-link.h"

struct _IowRelay
{
  GObject parent_instance;

  /* As constructed; constant from then on. */
  char *path;
  int file_fd;            /* -1: none */
  IowDirection direction;
  IowCacheMode cache;
  IowSyncMode sync;
  int mode;               /* -1: not given, as in the four below */
  gint64 offset_bytes;
  gint64 length_bytes;
  gint64 expect_length_bytes;
  guint64 buffer_size_bytes; /* 0: the helper's own */
  gboolean in_place;
  gboolean no_clobber;
  gboolean nonblock;
  char *helper_path;      /* NULL: search */

  /* Under the lock. */
  GMutex lock;
  guint wait_timeout_ms;  /* 0: no limit */
  guint commit_grace_ms;
  int fd;                 /* the hypervisor's end; -1: stolen or closed */
  guint64 pipe_size_bytes;
  IowLink *link;          /* NULL: not initialised, or disposed of */
  gboolean init_begun;
  GError *init_error;     /* why it could not be */
};

/* iow-relay-props.c */
void iow_relay_install_properties (GObjectClass *object_class);

/* iow-relay-init.c: the GInitable interface's only method. */
gboolean iow_relay_init_sync (GInitable *initable, GCancellable *cancellable, GError **error);

/* The link, or NULL with IOW_ERROR_NOT_READY set. (transfer full) */
IowLink *iow_relay_ref_link (IowRelay *relay, GError **error);

#endif
