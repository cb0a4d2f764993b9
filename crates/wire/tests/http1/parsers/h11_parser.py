"""Verdicts of h11 on requests: a line of hex in, a verdict out.

T body,body...   requests accepted, with these bodies in hex
R                rejected
W                incomplete
"""
import sys

import h11


def verdict(data):
    connection, bodies, body = h11.Connection(h11.SERVER), [], None
    try:
        connection.receive_data(data)
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                body = b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                bodies.append(body)
                body = None
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                    break
                connection.start_next_cycle()
            else:
                break
    except h11.RemoteProtocolError:
        return "R"
    except h11.LocalProtocolError:
        # CONNECT: taken, and no longer HTTP.
        pass
    if body is not None or not bodies:
        return "W"
    return "T " + ",".join(body.hex() for body in bodies)


for line in sys.stdin:
    print(verdict(bytes.fromhex(line.strip())), flush=True)
