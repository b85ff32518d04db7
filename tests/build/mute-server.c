/* SPDX-License-Identifier: GPL-2.0-only */
/* A server that never says a word. */
#include "mute-server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <sys/socket.h>

#include "base/clock.h"

bool mute_server_has_client(void)
{
	return dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_NODELETE);
}

static void *serve(void *arg)
{
	struct mute_server *server = arg;
	_cleanup_close_ int fd = accept(server->fd, NULL, NULL);
	char c;

	if (fd < 0)
		return NULL;
	pthread_mutex_lock(&server->lock);
	server->time = clock_now_ns();
	pthread_cond_signal(&server->came);
	pthread_mutex_unlock(&server->lock);
	if (server->on_client)
		server->on_client(server->arg);
	while (read(fd, &c, 1) > 0)
		;
	return NULL;
}

static int listen_on(struct mute_server *server)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(at);

	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(server->fd, 4) || getsockname(server->fd, (struct sockaddr *)&at, &size))
		return -errno;
	server->port = ntohs(at.sin_port);
	return 0;
}

int mute_server_start(struct mute_server *server, void (*on_client)(void *arg), void *arg)
{
	int err;

	*server = (struct mute_server){ .on_client = on_client, .arg = arg };
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->came, NULL);
	err = listen_on(server);
	return err ? err : -pthread_create(&server->thread, NULL, serve, server);
}

void mute_server_wait(struct mute_server *server)
{
	pthread_mutex_lock(&server->lock);
	while (!server->time)
		pthread_cond_wait(&server->came, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

void mute_server_stop(struct mute_server *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}
