// Decodes frames and draws them.

const HEADER = 32;
const CODING_JPEG = 0;
const CODING_H264 = 1;
const FLAG_KEY = 1;
const FLAG_HISTORY = 2;

/** Takes a binary message apart; see packet.rs for the layout. */
export function parse(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER || view.getUint8(0) !== 1) return null;
  const flags = view.getUint8(2);
  return {
    coding: view.getUint8(1),
    key: (flags & FLAG_KEY) !== 0,
    history: (flags & FLAG_HISTORY) !== 0,
    width: view.getUint16(4, true),
    height: view.getUint16(6, true),
    number: Number(view.getBigUint64(8, true)),
    capturedMs: Number(view.getBigInt64(16, true)) / 1000,
    receivedMs: Number(view.getBigInt64(24, true)) / 1000,
    payload: new Uint8Array(buffer, HEADER),
  };
}

/** The codec string of an Annex B access unit with a sequence parameter set, or null. */
export function codecOf(unit) {
  for (let i = 0; i + 6 < unit.length; i++) {
    if (unit[i] === 0 && unit[i + 1] === 0 && unit[i + 2] === 1 && (unit[i + 3] & 0x1f) === 7) {
      const hex = (octet) => octet.toString(16).padStart(2, "0");
      return `avc1.${hex(unit[i + 4])}${hex(unit[i + 5])}${hex(unit[i + 6])}`;
    }
  }
  return null;
}

/** Whether this browser can decode H.264 on this page. */
export function decodesH264() {
  return "VideoDecoder" in window;
}

export class Player {
  /**
   * `onFrame(frame)` is called for each frame drawn, `onDone()` for each message dealt with, drawn or not,
   * `onBroken(reason)` when H.264 cannot be decoded here.
   */
  constructor(canvas, { onFrame, onDone, onBroken }) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.onFrame = onFrame;
    this.onDone = onDone;
    this.onBroken = onBroken;
    this.failures = 0;
    this.name = "–";
    this.reset();
  }

  /** Forgets what was decoded: the next frame is of another camera or another connection. */
  reset() {
    this.closeDecoder();
    this.pending = new Map();
    this.drawing = Promise.resolve();
    this.generation = (this.generation ?? 0) + 1;
    this.nextId = 0;
  }

  handle(frame) {
    if (frame.coding === CODING_H264 && decodesH264()) this.decode(frame);
    else if (frame.coding === CODING_JPEG) this.show(frame);
    else this.onDone();
  }

  show(frame) {
    this.name = "JPEG";
    const generation = this.generation;
    const blob = new Blob([frame.payload], { type: "image/jpeg" });
    const picture = createImageBitmap(blob);
    // One after the other, so that an image that decodes quickly does not overtake.
    this.drawing = this.drawing.then(async () => {
      try {
        const bitmap = await picture;
        if (generation === this.generation) this.draw(bitmap, bitmap.width, bitmap.height, frame);
        bitmap.close();
      } catch {
        // A damaged image: the next one may be good.
      }
      if (generation === this.generation) this.onDone();
    });
  }

  decode(frame) {
    if (frame.key) this.configure(codecOf(frame.payload));
    if (!this.decoder || this.decoder.state !== "configured") {
      this.onDone();
      return;
    }
    // The timestamp only identifies the frame: what belongs to it waits in `pending`.
    const timestamp = this.nextId++;
    this.pending.set(timestamp, frame);
    try {
      const type = frame.key ? "key" : "delta";
      this.decoder.decode(new EncodedVideoChunk({ type, timestamp, data: frame.payload }));
    } catch (error) {
      this.fail(error);
    }
  }

  configure(codec) {
    if (!codec || (this.decoder?.state === "configured" && this.codec === codec)) return;
    this.closeDecoder();
    this.abandon();
    const generation = this.generation;
    const decoder = new VideoDecoder({
      output: (picture) => this.output(picture, generation),
      error: (error) => this.decoder === decoder && this.fail(error),
    });
    this.decoder = decoder;
    this.codec = codec;
    this.name = `WebCodecs ${codec}`;
    try {
      decoder.configure({ codec, optimizeForLatency: true });
    } catch (error) {
      this.fail(error);
    }
  }

  output(picture, generation) {
    if (generation === this.generation) {
      // What was given before this picture and has not come out never will.
      for (const [timestamp, frame] of this.pending) {
        if (timestamp > picture.timestamp) break;
        this.pending.delete(timestamp);
        if (timestamp === picture.timestamp) {
          this.failures = 0;
          // Of what was kept for a late viewer only the newest picture is worth drawing.
          if (!frame.history || this.pending.size === 0) {
            this.draw(picture, picture.displayWidth, picture.displayHeight, frame);
          }
        }
        this.onDone();
      }
    }
    picture.close();
  }

  fail(error) {
    this.closeDecoder();
    this.abandon();
    this.failures += 1;
    if (this.failures >= 3 || error.name === "NotSupportedError") this.onBroken(String(error.message));
  }

  /** Gives up the frames that were being decoded. */
  abandon() {
    const count = this.pending.size;
    this.pending.clear();
    for (let i = 0; i < count; i++) this.onDone();
  }

  closeDecoder() {
    if (this.decoder && this.decoder.state !== "closed") this.decoder.close();
    this.decoder = null;
    this.codec = null;
  }

  draw(picture, width, height, frame) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.drawImage(picture, 0, 0);
    this.onFrame(frame);
  }
}
