/* SPDX-License-Identifier: GPL-2.0-only */
/* A server on the loopback that takes a connection and never says a word. */
#ifndef MUTE_SERVER_H
#define MUTE_SERVER_H

#include <pthread.h>

#include "base/types.h"

struct mute_server {
	int fd;
	u16 port;
	pthread_t thread;
	void (*on_client)(void *arg);	/* on the server's thread; may be NULL */
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t came;
	u64 time;			/* ns, when a client came; 0: none did */
};

/*
 * Whether debuginfod's client is installed, without which nobody is asked. It stays loaded from
 * then on: what its libraries keep is no leak as long as they are there.
 */
bool mute_server_has_client(void);

/* 0 or -errno. */
int mute_server_start(struct mute_server *server, void (*on_client)(void *arg), void *arg);

/* Waits for a client. */
void mute_server_wait(struct mute_server *server);
void mute_server_stop(struct mute_server *server);

#endif
