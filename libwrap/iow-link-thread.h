/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-link-thread.h - the private thread of a link.
 */
#ifndef IOW_LINK_THREAD_H
#define IOW_LINK_THREAD_H

#include "libwrap/iow-link.h"

/* A GThreadFunc; DATA is a reference to the link, which it drops at its end. */
gpointer iow_link_thread (gpointer data);

#endif
