use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize};

use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::*;
use crate::segment::{HEAD, Segment};

/// What another process of this program is to do, and in which folder: what is done with a signal is for a whole process.
const ROLE: &str = "DUNLIN_SIGBUS_ROLE";
const FOLDER: &str = "DUNLIN_SIGBUS_FOLDER";
/// How a process ends whose handler was called.
const CALLED: i32 = 33;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap()
}

fn cut(path: &Path, len: u64) {
    File::options().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// A file of a few pages, and where it is.
fn made(folder: impl AsRef<Path>, pages: usize) -> (Segment, std::path::PathBuf) {
    let path = folder.as_ref().join(format!("{pages}"));
    (Segment::create(&path, HEAD * pages, 0o600).unwrap(), path)
}

#[test]
fn a_page_cut_off_is_read_as_zeros_and_its_mapping_is_lost_as_a_whole() {
    install().unwrap();
    let folder = folder();
    let ((ours, path), (other, _)) = (made(&folder, 4), made(&folder, 3));
    for map in [&ours.map, &other.map] {
        map.write(0, &[1; 8192]);
    }
    cut(&path, 4096);
    assert!(ours.is_cut() && !ours.map.is_lost(), "nobody has used what is missing");
    assert_eq!(ours.map.octets(0, 2), [1, 1], "this page is there");
    assert!(!ours.map.is_lost());
    assert_eq!(ours.map.octets(4096, 2), [0, 0]);
    assert!(ours.map.is_lost());
    assert_eq!(ours.map.octets(0, 2), [0, 0], "all of it is memory of this process");
    ours.map.word(12_288).store(7, Ordering::Relaxed);
    assert_eq!((other.map.octets(4096, 1), other.map.is_lost()), (&[1][..], false));
    assert_eq!(std::fs::metadata(path).unwrap().len(), 4096);
}

#[test]
fn a_lost_mapping_of_a_file_for_reading_alone_is_zeros() {
    install().unwrap();
    let folder = folder();
    let (_made, path) = made(&folder, 2);
    let reader = Segment::attach_to_read(&path, 0..=HEAD * 2).unwrap();
    cut(&path, 0);
    let mut octets = [9; 8];
    reader.map.read(4096, &mut octets);
    assert_eq!((octets, reader.map.is_lost()), ([0; 8], true));
}

#[test]
fn a_restored_file_is_shared_again_and_can_be_lost_again() {
    install().unwrap();
    let folder = folder();
    let (ours, path) = made(&folder, 1);
    for round in 1..=3 {
        cut(&path, 0);
        ours.map.word(0).store(99, Ordering::Relaxed);
        assert!(ours.map.is_lost(), "round {round}");
        ours.restore().unwrap();
        assert!(!ours.is_cut(), "round {round}");
        let theirs = Segment::attach(&path, HEAD, |_| true).unwrap();
        assert_eq!(theirs.map.word(0).load(Ordering::Relaxed), 0, "what was written to lost memory is gone");
        theirs.map.word(0).store(round, Ordering::Relaxed);
        assert_eq!(ours.map.word(0).load(Ordering::Relaxed), round);
    }
}

#[test]
fn an_entry_of_the_table_is_used_again_after_its_mapping() {
    install().unwrap();
    let folder = folder();
    let (first, path) = made(&folder, 1);
    cut(&path, 0);
    let _ = first.map.word(0).load(Ordering::Relaxed);
    assert!(first.map.is_lost());
    drop(first);
    for pages in 2..40 {
        let (next, _) = made(&folder, pages);
        next.map.word(0).store(1, Ordering::Relaxed);
        assert!(!next.map.is_lost(), "as if it were the one before");
    }
}

#[test]
fn threads_that_use_a_page_cut_off_at_the_same_time_all_go_on() {
    install().unwrap();
    let folder = folder();
    for round in 0..50 {
        let (ours, path) = made(&folder, 64);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let map = &ours.map;
                scope.spawn(move || {
                    while !map.is_lost() {
                        (0..64).for_each(|page| {
                            map.word(page * 4096 + thread * 64).fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
            cut(&path, round * 1000);
        });
        drop(ours);
        std::fs::remove_file(path).unwrap();
    }
}

fn run(role: &str) -> ExitStatus {
    let (program, folder) = (std::env::current_exe().unwrap(), folder());
    let mut child = Command::new(program);
    child.args(["--exact", "sigbus::tests::child_process", "--nocapture", "--test-threads", "1"]);
    child.env(ROLE, role).env(FOLDER, folder.path()).stdout(Stdio::null()).status().unwrap()
}

#[test]
fn a_sigbus_that_is_none_of_ours_ends_the_process_as_before() {
    for role in ["elsewhere", "elsewhere default", "elsewhere ignored", "sent default"] {
        assert_eq!(run(role).signal(), Some(libc::SIGBUS), "{role}");
    }
}

#[test]
fn a_sigbus_that_was_sent_and_is_ignored_stays_ignored() {
    assert_eq!(run("sent ignored").code(), Some(0));
}

#[test]
fn a_sigbus_handler_of_before_is_called_for_what_is_none_of_ours() {
    for role in ["elsewhere handled", "elsewhere handled plainly", "sent handled plainly"] {
        assert_eq!(run(role).code(), Some(CALLED), "{role}");
    }
    assert_eq!(
        run("elsewhere handled once").signal(),
        Some(libc::SIGBUS),
        "it is called once, and says so by 1"
    );
}

#[test]
fn a_sigbus_handler_of_before_is_not_called_for_files_that_were_cut() {
    for role in
        ["ours", "ours default", "ours handled", "ours handled plainly", "ours ignored", "ours blocked"]
    {
        assert_eq!(run(role).code(), Some(0), "{role}");
    }
}

#[test]
fn a_sigbus_handler_installed_later_is_noticed_and_decides() {
    assert_eq!(run("later").code(), Some(CALLED), "one that passes nothing on");
    assert_eq!(run("later passes on").code(), Some(0), "one that passes on what it does not know");
}

/// The address of the page at which a fault elsewhere happens.
static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicU32 = AtomicU32::new(0);
static LATER: OnceLock<sigaction> = OnceLock::new();

extern "C" fn handled(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel, or who passes it on, hands over what belongs to the signal.
    let at = unsafe { (*info).si_addr() as usize };
    let right = signal == libc::SIGBUS && at == ELSEWHERE.load(Ordering::Relaxed) + 8192;
    // SAFETY: it ends the process.
    unsafe { libc::_exit(if right { CALLED } else { 1 }) }
}

extern "C" fn handled_plainly(signal: c_int) {
    // SAFETY: it ends the process.
    unsafe { libc::_exit(if signal == libc::SIGBUS { CALLED } else { 1 }) }
}

extern "C" fn handled_once(_: c_int) {
    if CALLS.fetch_add(1, Ordering::Relaxed) > 0 {
        // SAFETY: it ends the process.
        unsafe { libc::_exit(1) }
    }
}

extern "C" fn passes_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = LATER.get().unwrap().sa_sigaction;
    // SAFETY: it is the handler of this module.
    let before: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = unsafe { transmute(before as *const ()) };
    before(signal, info, context);
}

fn set(handler: usize, flags: c_int) {
    let mut action = exchange(None).unwrap();
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    exchange(Some(&action)).unwrap();
}

fn fault_elsewhere(folder: &Path) {
    let path = folder.join("elsewhere");
    let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    file.set_len(12_288).unwrap();
    // SAFETY: a new mapping at a place that the kernel chooses.
    let start =
        unsafe { mmap(ptr::null_mut(), 12_288, ProtFlags::READ, MapFlags::SHARED, &file, 0) }.unwrap();
    ELSEWHERE.store(start as usize, Ordering::Relaxed);
    cut(&path, 0);
    // SAFETY: inside the mapping; the access fails.
    unsafe { start.cast::<u8>().add(8192).read_volatile() };
}

fn fault_of_ours(folder: &Path) {
    let (ours, path) = made(folder, 2);
    cut(&path, 0);
    assert_eq!(ours.map.octets(4096, 1), [0]);
    assert!(ours.map.is_lost());
}

fn before_installing(how: &str) {
    match how {
        "default" => set(libc::SIG_DFL, 0),
        "ignored" => set(libc::SIG_IGN, 0),
        "handled" => set(handled as *const () as usize, libc::SA_SIGINFO),
        "handled plainly" => set(handled_plainly as *const () as usize, 0),
        "handled once" => set(handled_once as *const () as usize, libc::SA_RESETHAND),
        _ => {}
    }
}

fn block() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by the first call, and then read.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// A handler comes after that of this module.
fn replace_handler(how: &str) {
    LATER.set(exchange(None).unwrap()).unwrap();
    assert!(!is_replaced());
    let handler =
        if how.contains("passes on") { passes_on as *const () } else { handled_plainly as *const () };
    set(handler as usize, libc::SA_SIGINFO);
    assert!(is_replaced());
}

/// What the other process does; in the first one it is a test of nothing.
#[test]
fn child_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let (what, how) = role.split_once(' ').unwrap_or((&role, ""));
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    // A fault that repeats for ever ends too.
    // SAFETY: it takes a number.
    unsafe { libc::alarm(20) };
    before_installing(how);
    install().unwrap();
    if how == "blocked" {
        block();
        unblock_here();
    }
    match what {
        "elsewhere" => fault_elsewhere(&folder),
        "ours" => fault_of_ours(&folder),
        // SAFETY: it takes a number.
        "sent" => _ = unsafe { libc::raise(libc::SIGBUS) },
        "later" => {
            replace_handler(how);
            fault_of_ours(&folder);
        }
        other => panic!("no role {other}"),
    }
}
