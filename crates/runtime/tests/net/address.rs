//! Addresses of either family: text, listening, connecting.

use crate::on_both_backends;
use brunt_runtime::net::{Address, Any, Listener, Stream};

on_both_backends!(either_family_listens_and_connects, an_unused_address_is_listened_on_by_several,);

#[test]
fn the_text_of_an_address_is_read_back() {
    for (text, scheme) in [("127.0.0.1:7100", "tcp"), ("[::1]:0", "tcp")] {
        let address: Address = text.parse().expect(text);
        assert_eq!((address.to_string().as_str(), address.scheme()), (text, scheme));
        assert_eq!(address.tcp().is_some(), scheme == "tcp", "{text}");
    }
    for (text, remedy) in [("", "127.0.0.1:7100"), ("localhost:1", "127.0.0.1:7100")] {
        let error = text.parse::<Address>().unwrap_err();
        assert!(error.contains(remedy), "{text}: {error}");
    }
}

async fn either_family_listens_and_connects() {
    for address in ["127.0.0.1:0".parse::<Address>().unwrap()] {
        let listener = Listener::<Any>::bind(&address).unwrap();
        let bound = listener.local_addr().unwrap();
        assert_eq!(bound.scheme(), address.scheme());
        assert!(bound == address || bound.tcp().is_some_and(|bound| bound.port() > 0), "{bound}");
        let mut client = Stream::<Any>::connect_from(&bound, None).await.unwrap();
        assert_eq!(client.peer_addr().unwrap(), bound);
        ask(&mut client, &listener).await;
    }
}

async fn ask(client: &mut Stream<Any>, listener: &Listener<Any>) {
    let mut server = listener.accept().await.unwrap();
    client.write_all(b"question").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"question");
}

async fn an_unused_address_is_listened_on_by_several() {
    for like in ["192.0.2.1:80"] {
        let (socket, address) = like.parse::<Address>().unwrap().listen_unused().unwrap();
        let (other, next) = address.listen_unused().unwrap();
        assert!(next != address && next.scheme() == address.scheme(), "{next}");
        drop(other);
        for _ in 0..2 {
            let listener = Listener::<Any>::from_std(socket.try_clone().unwrap()).unwrap();
            let mut client = Stream::<Any>::connect_from(&address, None).await.unwrap();
            ask(&mut client, &listener).await;
        }
    }
}
