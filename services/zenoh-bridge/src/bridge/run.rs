//! The threads of a bridge.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dunlin::{
    DCPS_PUBLICATION, DCPS_SUBSCRIPTION, DataReader, DcpsPublication, DcpsSubscription, StatusMask,
};

use super::Shared;
use crate::down::{DownRoute, Turn};
use crate::plan::Plan;
use crate::queue::News;
use crate::service::ServiceRoute;
use crate::types::NoTopic;
use crate::up::{Question, UpKey, UpRoute};

/// Least time between looks at what discovery knows.
const PLANNING: Duration = Duration::from_millis(5);
/// Until a type that is asked for is looked for again.
const TYPES: Duration = Duration::from_millis(20);
/// Between looks at what has to end.
const TENDING: Duration = Duration::from_secs(1);
/// Until what had no room is tried again.
const ROOM: Duration = Duration::from_micros(500);
/// How long a connection may be away without loss: so long writers are read although nobody subscribes.
const OUTAGE: Duration = Duration::from_secs(60);
/// How long a route without writers answers who missed something.
const LINGER: Duration = Duration::from_secs(10);

/// What tells of endpoints that come and go.
pub(super) type Builtin = (Option<DataReader<DcpsPublication>>, Option<DataReader<DcpsSubscription>>);

/// Has discovery wake the planner.
pub(super) fn watch(shared: &Arc<Shared>) -> Builtin {
    let builtin = shared.participant.builtin_subscriber();
    let publications = builtin.lookup_datareader::<DcpsPublication>(DCPS_PUBLICATION);
    let subscriptions = builtin.lookup_datareader::<DcpsSubscription>(DCPS_SUBSCRIPTION);
    if let Some(reader) = &publications {
        reader.set_listener(teller::<DcpsPublication>(shared), StatusMask::DATA_AVAILABLE);
    }
    if let Some(reader) = &subscriptions {
        reader.set_listener(teller::<DcpsSubscription>(shared), StatusMask::DATA_AVAILABLE);
    }
    (publications, subscriptions)
}

fn teller<T: dunlin::DdsType>(shared: &Arc<Shared>) -> impl Fn(&DataReader<T>) + Send + Sync + 'static {
    let shared = Arc::downgrade(shared);
    move |reader| {
        // It is told again of what is taken only.
        let _ = reader.take(usize::MAX);
        if let Some(shared) = shared.upgrade() {
            shared.plan_again();
        }
    }
}

/// Opens and ends routes.
pub(super) fn plan(shared: &Arc<Shared>) {
    loop {
        let next = plan_once(shared);
        if !shared.plan_wake.wait(Some(next)) {
            return;
        }
        // What comes together is planned together.
        let until = Instant::now() + PLANNING;
        while Instant::now() < until {
            if !shared.plan_wake.wait(Some(until.saturating_duration_since(Instant::now()))) {
                return;
            }
        }
    }
}

fn plan_once(shared: &Arc<Shared>) -> Duration {
    let mut plan = Plan::new(shared);
    shared.set_present(std::mem::take(&mut plan.present));
    let pending = plan_up(shared, &plan) | plan_down(shared, &plan);
    crate::service::plan(shared, &plan.services);
    for (topic, why) in &plan.refused {
        shared.refuse(topic, why);
    }
    if pending { TYPES } else { TENDING }
}

/// True if a type is being asked for.
fn plan_up(shared: &Arc<Shared>, plan: &Plan) -> bool {
    let mut pending = false;
    for (key, (writer, rule)) in &plan.up {
        let known = shared.ups().get(key).cloned();
        let route = known.map_or_else(|| open_up(shared, key, rule), Ok);
        match route.and_then(|route| route.tend(*writer, OUTAGE)) {
            Ok(()) => {}
            Err(NoTopic::Pending) => pending = true,
            Err(NoTopic::Because(why)) => shared.refuse(&key.topic, &why),
        }
    }
    let left = |(key, route): (&UpKey, &Arc<UpRoute>)| {
        (!plan.up.contains_key(key)).then(|| (key.clone(), Arc::clone(route)))
    };
    let left: Vec<_> = shared.ups().iter().filter_map(left).collect();
    for (key, route) in left {
        if route.is_over(LINGER) {
            shared.ups().remove(&key);
        }
    }
    pending
}

fn open_up(
    shared: &Arc<Shared>,
    key: &UpKey,
    rule: &crate::config::RouteConfig,
) -> Result<Arc<UpRoute>, NoTopic> {
    if shared.ups().len() >= shared.config.limits.routes {
        return Err(NoTopic::Because("there are as many routes to zenoh as limits.routes says".to_owned()));
    }
    let route = Arc::new(UpRoute::new(shared, key.clone(), rule).map_err(NoTopic::Because)?);
    shared.ups().insert(key.clone(), Arc::clone(&route));
    Ok(route)
}

fn plan_down(shared: &Arc<Shared>, plan: &Plan) -> bool {
    let mut pending = false;
    for (key, wish) in &plan.down {
        let known = shared.downs().iter().find(|route| route.key == *key).cloned();
        if let Some(route) = known {
            route.update(wish);
            continue;
        }
        if shared.downs().len() >= shared.config.limits.routes {
            shared.refuse(&key.topic, "there are as many routes from zenoh as limits.routes says");
            continue;
        }
        match DownRoute::new(shared, key.clone(), wish.clone()) {
            Ok(route) => {
                let route = Arc::new(route);
                shared.downs().push(Arc::clone(&route));
                for announced in shared.announced_for(&route) {
                    route.queue.news(News::Appeared(announced.source));
                }
                // Samples may have come before there was somebody to take them.
                shared.down_wake.wake();
            }
            Err(NoTopic::Pending) => pending = true,
            Err(NoTopic::Because(why)) => shared.refuse(&key.topic, &why),
        }
    }
    // Ending one waits for those who are about to pass something on, so it is not done under the lock.
    drop::<Vec<Arc<DownRoute>>>(take_over(&mut shared.downs(), plan));
    let downs = shared.downs().clone();
    downs.iter().for_each(|route| route.expire(OUTAGE));
    pending
}

/// Takes out the routes that nobody reads any more.
fn take_over(downs: &mut Vec<Arc<DownRoute>>, plan: &Plan) -> Vec<Arc<DownRoute>> {
    let (kept, over) = std::mem::take(downs).into_iter().partition(|it| plan.down.contains_key(&it.key));
    *downs = kept;
    over
}

/// Passes data to zenoh.
pub(super) fn up(shared: &Arc<Shared>) {
    let mut more = false;
    while shared.up_wake.wait(more.then_some(Duration::ZERO)) {
        let routes: Vec<_> = shared.ups().values().cloned().collect();
        more = routes.iter().fold(false, |more, route| route.pump() | more);
        let services: Vec<_> = shared.services().values().cloned().collect();
        services.iter().for_each(ServiceRoute::pump);
    }
}

/// Passes data to DDS.
pub(super) fn down(shared: &Arc<Shared>) {
    let mut next = None;
    while shared.down_wake.wait(next) {
        next = None;
        let routes = shared.downs().clone();
        for route in &routes {
            match route.pump() {
                Turn::Empty => {}
                Turn::More => next = Some(Duration::ZERO),
                Turn::Waits => next = next.or(Some(ROOM)),
            }
        }
    }
}

/// Answers who asks for history, until nobody can ask any more.
pub(super) fn answer(shared: &Weak<Shared>, asked: &Receiver<Question>) {
    while let Ok(question) = asked.recv() {
        let Some(shared) = shared.upgrade() else { return };
        question.answer(&shared);
    }
}
