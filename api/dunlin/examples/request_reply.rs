//! A replier that adds, and a requester that asks: `cargo run --example request_reply -- serve`, and without `serve`.

use dunlin::request_reply::{Replier, Requester, Service};
use dunlin::{DdsType, DomainParticipant, Duration};

#[derive(DdsType, Clone, Debug, Default)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(DdsType, Clone, Debug, Default)]
struct Sum {
    sum: i64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let participant = DomainParticipant::new(0)?;
    let service = Service::new("Add");
    if std::env::args().nth(1).as_deref() == Some("serve") {
        let replier = Replier::<Numbers, Sum>::new(&participant, &service)?;
        loop {
            let request = replier.wait(Duration::INFINITE)?;
            let Numbers { a, b } = request.data;
            println!("{a} + {b}");
            if let Err(error) = replier.send_reply(request.id, &Sum { sum: a + b }) {
                eprintln!("{error}");
            }
        }
    }
    let requester = Requester::<Numbers, Sum>::new(&participant, &service)?;
    requester.wait_for_service(Duration::from_secs(30))?;
    let reply = requester.call(&Numbers { a: 2, b: 3 }, Duration::from_secs(5))?;
    println!("2 + 3 = {}", reply.data.sum);
    Ok(())
}
