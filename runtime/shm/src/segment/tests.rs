use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

#[test]
fn a_file_is_private_if_only_its_owner_is_this_user_and_writes() {
    for (owner, mode, private) in [
        (1000, 0o100_600, true),
        (1000, 0o100_644, true),
        (1000, 0o100_400, true),
        (1000, 0o100_620, false),
        (1000, 0o100_602, false),
        (1000, 0o100_660, false),
        (1000, 0o100_666, false),
        (1001, 0o100_600, false),
        (0, 0o100_600, false),
    ] {
        assert_eq!(is_private_to(1000, owner, mode), private, "{owner} {mode:o}");
    }
}

#[test]
fn segments_writable_by_other_users_are_not_attached_to_read() {
    let folder = folder();
    let path = folder.path().join("file");
    let made = Segment::create(&path, HEAD, 0o600).unwrap();
    assert!(Segment::attach_to_read(&path, HEAD..=HEAD).is_ok() && made.is_private());
    for mode in [0o620, 0o602, 0o666] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = Segment::attach_to_read(&path, HEAD..=HEAD).unwrap_err();
        assert_eq!((error.kind(), made.is_private()), (io::ErrorKind::PermissionDenied, false), "{mode:o}");
    }
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    for lengths in [0..=HEAD - 1, HEAD + 1..=usize::MAX] {
        assert_eq!(Segment::attach_to_read(&path, lengths).unwrap_err().kind(), io::ErrorKind::Other);
    }
    if std::os::unix::fs::chown(&path, Some(4_321), None).is_err() {
        return dunlin_notes::skipped("no file can be given away", "run it as root");
    }
    let error = Segment::attach_to_read(&path, HEAD..=HEAD).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}

/// The folder has the set-group-ID bit and a group that is none of ours, which only root can arrange here.
#[test]
fn the_group_of_a_file_is_that_of_its_maker_whatever_the_folder_says() {
    let folder = folder();
    let own = rustix::process::getegid().as_raw();
    if std::os::unix::fs::chown(folder.path(), None, Some(own + 1)).is_err() {
        return dunlin_notes::skipped("no folder can be given to another group", "run it as root");
    }
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o2777)).unwrap();
    let path = folder.path().join("file");
    let _made = Segment::create(&path, HEAD, 0o660).unwrap();
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!((found.gid(), found.mode() & 0o777), (own, 0o660));
}

/// Who sweeps has opened and locked the file between making and locking.
#[test]
fn a_process_without_the_segment_lock_removes_nothing() {
    let folder = folder();
    let path = folder.path().join("file");
    let file = File::create_new(&path).unwrap();
    let theirs = open(&path, OFlags::RDWR).unwrap();
    rustix::fs::flock(&theirs, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(Segment::set_up(&path, file, HEAD, 0o600).is_err());
    assert!(path.exists(), "it is theirs");
}

/// The same, and they have removed it, and somebody has made another one since.
#[test]
fn a_process_does_not_remove_a_later_file_of_another() {
    let folder = folder();
    let path = folder.path().join("file");
    let file = File::create_new(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let another = Segment::create(&path, HEAD, 0o600).unwrap();
    let error = Segment::set_up(&path, file, HEAD, 0o600).unwrap_err();
    assert!(error.to_string().contains("removed while it was made"), "{error}");
    assert!(path.exists() && !another.is_removed());
}

#[test]
fn only_the_file_that_was_looked_at_is_removed() {
    let folder = folder();
    let [path, elsewhere] = ["file", "elsewhere"].map(|name| folder.path().join(name));
    let old = Segment::create(&path, HEAD, 0o600).unwrap();
    std::fs::rename(&path, &elsewhere).unwrap();
    let new = Segment::create(&path, HEAD, 0o600).unwrap();
    old.remove(&path);
    assert!(!new.is_removed());
    assert!(!remove_if_abandoned(&path), "it has an owner");
    drop(new);
    assert!(remove_if_abandoned(&path) && !path.exists());
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(!remove_if_abandoned(&path));
    old.remove(&path);
    assert!(path.exists() && elsewhere.exists(), "a link is none of ours");
}
