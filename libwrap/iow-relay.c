/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay.c - IowRelay, the object: its type, its end, its constructors.
 *
 * Invariant: dispose and finalize never block; what is still to be done is the
 * link's thread's.
 */
#include <config.h>

#include "libwrap/iow-relay-private.h"

static void initable_iface_init (GInitableIface *iface);

G_DEFINE_TYPE_WITH_CODE (IowRelay, iow_relay, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_INITABLE, initable_iface_init))

static void
iow_relay_init (IowRelay *relay)
{
  g_mutex_init (&relay->lock);
  relay->file_fd = -1;
  relay->fd = -1;
}

static void
dispose (GObject *object)
{
  IowRelay *relay = IOW_RELAY (object);
  IowLink *link;

  iow_relay_close (relay);
  iow_lock (&relay->lock);
  link = g_steal_pointer (&relay->link);
  iow_unlock (&relay->lock);
  if (link)
    iow_link_unref (link);
  G_OBJECT_CLASS (iow_relay_parent_class)->dispose (object);
}

static void
finalize (GObject *object)
{
  IowRelay *relay = IOW_RELAY (object);

  g_clear_error (&relay->init_error);
  g_free (relay->path);
  g_free (relay->helper_path);
  g_mutex_clear (&relay->lock);
  G_OBJECT_CLASS (iow_relay_parent_class)->finalize (object);
}

static void
initable_iface_init (GInitableIface *iface)
{
  iface->init = iow_relay_init_sync;
}

static void
iow_relay_class_init (IowRelayClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->dispose = dispose;
  object_class->finalize = finalize;
  iow_relay_install_properties (object_class);
}

IowRelay *
iow_relay_new_for_path (const char *path, IowDirection direction, GCancellable *cancellable,
                        GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return g_initable_new (IOW_TYPE_RELAY, cancellable, error, "path", path, "direction", direction,
                         NULL);
}

IowRelay *
iow_relay_new_for_fd (int fd, IowDirection direction, GCancellable *cancellable, GError **error)
{
  g_return_val_if_fail (fd >= 0, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  return g_initable_new (IOW_TYPE_RELAY, cancellable, error, "fd", fd, "direction", direction,
                         NULL);
}
