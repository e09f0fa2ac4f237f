//! The router between the inner and the outer domain: pictures out, requests in, and nothing else.

use anyhow::{Context, Result};
use dunlin::GuardCondition;
use dunlin_program::{Stop, say};
use dunlin_router::{Router, RouterConfig};

/// Of the domains 0 and 1; `dunlin route` takes it as it is.
const GATE: &str = include_str!("../examples/gate.toml");

fn configuration((inner, outer): (u32, u32)) -> Result<RouterConfig> {
    let mut config = RouterConfig::from_toml("gate.toml", GATE, None)?;
    for participant in &mut config.participants {
        participant.domain = if participant.name == "inner" { inner } else { outer };
    }
    Ok(config)
}

/// Routes until it is told to stop.
///
/// # Errors
/// When a domain cannot be joined.
pub fn run((inner, outer): (u32, u32), stop: &Stop) -> Result<()> {
    let mut router = Router::new(configuration((inner, outer))?)?;
    say!("routing between the domains {inner} and {outer}");
    let ends = GuardCondition::new();
    let (wish, told) = (stop.clone(), ends.clone());
    let wait = move || {
        while !wish.wait(std::time::Duration::from_secs(3600)) {}
        told.set_trigger_value(true);
    };
    std::thread::Builder::new().name("end".into()).spawn(wait).context("cannot start a thread")?;
    Ok(router.run(&ends)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domains_are_those_that_are_asked_for() {
        let config = configuration((179, 0)).unwrap();
        let domains: Vec<_> = config.participants.iter().map(|it| (it.name.as_str(), it.domain)).collect();
        assert_eq!(domains, [("inner", 179), ("outer", 0)]);
    }
}
