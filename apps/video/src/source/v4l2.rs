//! The few calls of Video4Linux2 that capturing from a camera takes.
//!
//! This is the one module of the crate with `unsafe`: the structures that the kernel reads and writes, and the
//! memory that it shares with us.
#![allow(unsafe_code)]

use std::ffi::{c_long, c_ulong, c_void};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl, opcode};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

const CAPTURE: u32 = 1;
const MEMORY_MMAP: u32 = 1;
const CAP_VIDEO_CAPTURE: u32 = 1;
const CAP_STREAMING: u32 = 0x0400_0000;
const CAP_DEVICE_CAPS: u32 = 0x8000_0000;
const BUFFER_ERROR: u32 = 0x40;
const BUFFERS: u32 = 4;

/// Four letters that name a pixel format.
pub type FourCc = [u8; 4];
/// Packed Y0, U, Y1, V.
pub const YUYV: FourCc = *b"YUYV";
/// One JPEG image per frame.
pub const MJPG: FourCc = *b"MJPG";

#[repr(C)]
struct Capability {
    driver: [u8; 16],
    card: [u8; 32],
    bus_info: [u8; 32],
    version: u32,
    capabilities: u32,
    device_caps: u32,
    reserved: [u32; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PixFormat {
    width: u32,
    height: u32,
    pixel_format: FourCc,
    field: u32,
    bytes_per_line: u32,
    size_image: u32,
    more: [u32; 6],
}

#[repr(C)]
union FormatUnion {
    pix: PixFormat,
    raw: [u8; 200],
    align: c_ulong,
}

#[repr(C)]
struct Format {
    kind: u32,
    fmt: FormatUnion,
}

#[repr(C)]
struct StreamParm {
    kind: u32,
    capability: u32,
    capture_mode: u32,
    numerator: u32,
    denominator: u32,
    extended_mode: u32,
    read_buffers: u32,
    rest: [u32; 44],
}

#[repr(C)]
struct RequestBuffers {
    count: u32,
    kind: u32,
    memory: u32,
    capabilities: u32,
    flags: u8,
    reserved: [u8; 3],
}

#[repr(C)]
#[derive(Default)]
struct Buffer {
    index: u32,
    kind: u32,
    bytes_used: u32,
    flags: u32,
    field: u32,
    timestamp: [c_long; 2],
    timecode: [u32; 4],
    sequence: u32,
    memory: u32,
    /// The member `offset` of a union of the size of a pointer; its place in it follows the byte order.
    m: [u8; size_of::<c_ulong>()],
    length: u32,
    reserved2: u32,
    request_fd: u32,
}

impl Buffer {
    fn new(index: u32) -> Self {
        Self { index, kind: CAPTURE, memory: MEMORY_MMAP, ..Self::default() }
    }

    fn offset(&self) -> u64 {
        let [a, b, c, d, ..] = self.m;
        u32::from_ne_bytes([a, b, c, d]).into()
    }
}

const QUERYCAP: Opcode = opcode::read::<Capability>(b'V', 0);
const S_FMT: Opcode = opcode::read_write::<Format>(b'V', 5);
const REQBUFS: Opcode = opcode::read_write::<RequestBuffers>(b'V', 8);
const QUERYBUF: Opcode = opcode::read_write::<Buffer>(b'V', 9);
const QBUF: Opcode = opcode::read_write::<Buffer>(b'V', 15);
const DQBUF: Opcode = opcode::read_write::<Buffer>(b'V', 17);
const STREAMON: Opcode = opcode::write::<u32>(b'V', 18);
const S_PARM: Opcode = opcode::read_write::<StreamParm>(b'V', 22);

/// One buffer that the driver fills, visible in our memory.
struct Mapping {
    start: *mut c_void,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(device: &File, offset: u64, len: usize) -> Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                device,
                offset,
            )
        }
        .context("cannot map a buffer of the camera")?;
        Ok(Self { start, len })
    }

    /// The first `len` octets. The buffer must not be queued while they are in use.
    fn bytes(&self, len: usize) -> &[u8] {
        // SAFETY: the mapping holds `self.len` readable octets for as long as `self` lives, and the driver leaves
        // a buffer alone between DQBUF and QBUF, the only time at which `Device` calls this.
        unsafe { std::slice::from_raw_parts(self.start.cast::<u8>().cast_const(), len.min(self.len)) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `len` are those of a mapping made by `new`, and nothing borrows it any more.
        let _ = unsafe { munmap(self.start, self.len) };
    }
}

/// A camera that is capturing.
pub struct Device {
    // Before the file, so that the mappings go first.
    mappings: Vec<Mapping>,
    file: File,
    /// The name of the camera.
    pub card: String,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Octets from one row to the next.
    pub bytes_per_line: usize,
    /// Pixel format.
    pub format: FourCc,
    /// Frames per second, as far as the driver tells.
    pub rate: Option<f64>,
}

impl Device {
    /// Opens a camera and starts capturing in the first of `formats` that it has.
    ///
    /// # Errors
    /// When it cannot be opened, is no camera, or has none of the formats.
    pub fn open(path: &Path, size: (u32, u32), rate: f64, formats: &[FourCc]) -> Result<Self> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: File = rustix::fs::open(path, flags, Mode::empty())
            .with_context(|| format!("cannot open the camera {}", path.display()))?
            .into();
        let mut device = Self {
            mappings: Vec::new(),
            card: check_camera(&file).with_context(|| path.display().to_string())?,
            file,
            size,
            bytes_per_line: 0,
            format: YUYV,
            rate: None,
        };
        device.choose_format(formats)?;
        device.choose_rate(rate);
        device.start()?;
        Ok(device)
    }

    fn choose_format(&mut self, formats: &[FourCc]) -> Result<()> {
        for &pixel_format in formats {
            let pix = PixFormat {
                width: self.size.0,
                height: self.size.1,
                pixel_format,
                field: 1, // progressive
                bytes_per_line: 0,
                size_image: 0,
                more: [0; 6],
            };
            let mut format = Format { kind: CAPTURE, fmt: FormatUnion { raw: [0; 200] } };
            format.fmt.pix = pix;
            // SAFETY: S_FMT reads and writes exactly one `v4l2_format`, which `Format` lays out.
            let result = unsafe { ioctl(&self.file, Updater::<S_FMT, _>::new(&mut format)) };
            if result == Err(Errno::BUSY) {
                bail!("another program is using the camera");
            }
            // SAFETY: for this kind of stream the kernel filled `pix`, and any octets are valid for it.
            let pix = unsafe { format.fmt.pix };
            if result.is_ok() && pix.pixel_format == pixel_format {
                self.size = (pix.width, pix.height);
                self.bytes_per_line = pix.bytes_per_line as usize;
                self.format = pixel_format;
                return Ok(());
            }
        }
        let names: Vec<_> = formats.iter().map(|f| String::from_utf8_lossy(f)).collect();
        bail!("the camera offers none of the formats {}", names.join(", "))
    }

    /// Asks for a rate; drivers are free to take another or none.
    fn choose_rate(&mut self, rate: f64) {
        let mut parm = StreamParm {
            kind: CAPTURE,
            capability: 0,
            capture_mode: 0,
            numerator: 1000,
            denominator: (rate * 1000.0) as u32,
            extended_mode: 0,
            read_buffers: 0,
            rest: [0; 44],
        };
        // SAFETY: S_PARM reads and writes exactly one `v4l2_streamparm`, which `StreamParm` lays out.
        let result = unsafe { ioctl(&self.file, Updater::<S_PARM, _>::new(&mut parm)) };
        if result.is_ok() && parm.numerator > 0 && parm.denominator > 0 {
            self.rate = Some(f64::from(parm.denominator) / f64::from(parm.numerator));
        }
    }

    fn start(&mut self) -> Result<()> {
        let mut request = RequestBuffers {
            count: BUFFERS,
            kind: CAPTURE,
            memory: MEMORY_MMAP,
            capabilities: 0,
            flags: 0,
            reserved: [0; 3],
        };
        // SAFETY: REQBUFS reads and writes exactly one `v4l2_requestbuffers`, which `RequestBuffers` lays out.
        unsafe { ioctl(&self.file, Updater::<REQBUFS, _>::new(&mut request)) }
            .context("the camera gives no buffers")?;
        ensure!(request.count >= 2, "the camera gives only {} buffers", request.count);
        for index in 0..request.count {
            let mut buffer = Buffer::new(index);
            // SAFETY: QUERYBUF reads and writes exactly one `v4l2_buffer`, which `Buffer` lays out.
            unsafe { ioctl(&self.file, Updater::<QUERYBUF, _>::new(&mut buffer)) }
                .context("the camera does not describe its buffers")?;
            let mapping = Mapping::new(&self.file, buffer.offset(), buffer.length as usize)?;
            self.mappings.push(mapping);
            self.queue(index)?;
        }
        // SAFETY: STREAMON reads one `int`.
        unsafe { ioctl(&self.file, Setter::<STREAMON, u32>::new(CAPTURE)) }
            .context("the camera does not start")
    }

    fn queue(&self, index: u32) -> Result<()> {
        let mut buffer = Buffer::new(index);
        // SAFETY: QBUF reads and writes exactly one `v4l2_buffer`; no slice of that mapping is alive.
        unsafe { ioctl(&self.file, Updater::<QBUF, _>::new(&mut buffer)) }
            .context("the camera does not take a buffer back")
    }

    /// Waits up to `timeout` for a frame and hands it to `take`; returns false when none came.
    ///
    /// # Errors
    /// When the camera is gone, or when `take` fails.
    pub fn frame(&mut self, timeout: Duration, take: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        let timeout = Timespec { tv_sec: timeout.as_secs() as _, tv_nsec: timeout.subsec_nanos().into() };
        let mut ready = [PollFd::new(&self.file, PollFlags::IN)];
        if poll(&mut ready, Some(&timeout)).or_else(nothing_if_interrupted)? == 0 {
            return Ok(false);
        }
        let mut buffer = Buffer::new(0);
        // SAFETY: DQBUF reads and writes exactly one `v4l2_buffer`, which `Buffer` lays out.
        match unsafe { ioctl(&self.file, Updater::<DQBUF, _>::new(&mut buffer)) } {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(error) => return Err(error).context("the camera is gone"),
        }
        let mapping =
            self.mappings.get(buffer.index as usize).context("the camera gave an unknown buffer")?;
        let good = buffer.flags & BUFFER_ERROR == 0 && buffer.bytes_used > 0;
        let result = if good { take(mapping.bytes(buffer.bytes_used as usize)) } else { Ok(()) };
        self.queue(buffer.index)?;
        result.map(|()| good)
    }
}

fn nothing_if_interrupted(error: Errno) -> Result<usize, Errno> {
    if error == Errno::INTR { Ok(0) } else { Err(error) }
}

fn check_camera(file: &File) -> Result<String> {
    // SAFETY: QUERYCAP writes exactly one `v4l2_capability`, which `Capability` lays out.
    let capability = unsafe { ioctl(file, Getter::<QUERYCAP, Capability>::new()) }.context("is no camera")?;
    let caps = if capability.capabilities & CAP_DEVICE_CAPS != 0 {
        capability.device_caps
    } else {
        capability.capabilities
    };
    ensure!(caps & CAP_VIDEO_CAPTURE != 0, "captures no video");
    ensure!(caps & CAP_STREAMING != 0, "cannot stream");
    let card = capability.card.split(|&octet| octet == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(card).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn calls_have_the_numbers_of_the_kernel_header() {
        let numbers = [QUERYCAP, S_FMT, REQBUFS, QUERYBUF, QBUF, DQBUF, STREAMON, S_PARM];
        let expected = [
            0x8068_5600_u32,
            0xC0D0_5605,
            0xC014_5608,
            0xC058_5609,
            0xC058_560F,
            0xC058_5611,
            0x4004_5612,
            0xC0CC_5616,
        ];
        assert_eq!(numbers, expected.map(Opcode::from));
    }

    #[test]
    fn devices_that_are_not_cameras_are_refused() {
        let open = |path: &str| Device::open(Path::new(path), (640, 480), 30.0, &[YUYV]).err().unwrap();
        assert!(format!("{:#}", open("/dev/null")).contains("is no camera"));
        assert!(format!("{:#}", open("/dev/video-none")).contains("cannot open"));
    }
}
