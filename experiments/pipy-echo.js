// Three HTTP services for Pipy: a constant text, the body of the request, the path and the client's address.

pipy()

.listen(os.env.HELLO)
.serveHTTP(new Message('Hi, there!\n'))

.listen(os.env.ECHO)
.serveHTTP(request => new Message(request.body))

.listen(os.env.ADDRESS)
.serveHTTP(request => new Message(`${request.head.path} from ${__inbound.remoteAddress}\n`))
