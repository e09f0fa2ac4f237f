//! The parts of the library that use its public API alone, compiled like parts of an application: what is not public cannot be named
//! here. `cargo xtask deps` checks that they name no crate but `dunlin`.
#![allow(dead_code, unused_imports, reason = "an application would use them")]

#[path = "../src/request_reply/mod.rs"]
pub mod request_reply;

use dunlin::sim::Sim;
use dunlin::{DdsType, DomainParticipant, Duration};
use request_reply::{Replier, Requester, Service};

#[derive(DdsType, Clone, Debug, Default, PartialEq)]
struct Number {
    n: i32,
}

#[test]
fn a_service_made_of_the_public_api_answers() {
    let service = || Service::new("PublicApiAlone");
    Sim::builder().seeds(0..2, |sim| {
        let (a, b) = (sim.node("a"), sim.node("b"));
        b.spawn(move |_| async move {
            let replier = Replier::<Number, Number>::new(&DomainParticipant::new(0)?, &service())?;
            let request = replier.wait_async().await?;
            replier.send_reply_async(request.id, &Number { n: request.data.n + 1 }).await?;
            std::future::pending::<dunlin::sim::Result>().await
        });
        let asked = a.spawn(move |_| async move {
            let requester = Requester::<Number, Number>::new(&DomainParticipant::new(0)?, &service())?;
            requester.wait_for_service_async().await?;
            assert_eq!(requester.call_async(&Number { n: 20 }).await?.data, Number { n: 21 });
            Ok(())
        });
        Ok(sim.join(&asked, Duration::from_secs(60))?)
    });
}
