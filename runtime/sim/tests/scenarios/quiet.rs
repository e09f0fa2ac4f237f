//! When there is nothing to say, nothing is said, except that everybody is still there.

use crate::common::*;

fn silence(seed: u64) {
    let filling = Filling::new(2_000);
    let (mut world, nodes) = patient_world(seed, 3, 250_000);
    let writer = writer(&mut world, nodes[0], "Quiet", keep_all_writer().transient_local());
    let readers = [nodes[1], nodes[2]]
        .map(|node| reader(&mut world, node, "Quiet", keep_all_reader().transient_local()));
    until_matched(&mut world, &[&writer], &[&readers[0], &readers[1]]);
    write_all(&mut world, nodes[0], &writer, &filling, 0..100, 2_000);
    until_acked(&mut world, &writer, secs(20));
    // The built-in endpoints have more to acknowledge than the writer knows of.
    world.run_for(secs(10));
    let before = (writer.stats(), readers[0].stats(), readers[1].stats(), world.network_stats().sent);
    world.run_for(secs(60));
    let after = (writer.stats(), readers[0].stats(), readers[1].stats(), world.network_stats().sent);
    assert_eq!(before.0.datagrams_sent, after.0.datagrams_sent, "the writer is silent");
    assert_eq!(before.0.heartbeats_sent, after.0.heartbeats_sent, "the writer is silent");
    for (before, after) in [(before.1, after.1), (before.2, after.2)] {
        assert_eq!(before.acknacks_sent, after.acknacks_sent, "the readers are silent");
    }
    // Three announce themselves every three seconds, one tenth sooner at most.
    let sent = after.3.datagrams - before.3.datagrams;
    assert!(sent <= 3 * 60 * 10 / 27 + 3, "{sent} datagrams in a minute of silence");
}
scenario!(idle, 20, silence);
