import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import type { Buffers } from "./socket/buffers.ts";
import { createDechunker, type Dechunker } from "./dechunk.ts";
import type { Sink } from "./exchange.ts";
import { Gather, GatherInPlace, type Gathered } from "./gather.ts";
import { framingOf, HeadReader, malformed, type AnswerHead, type Framing } from "./parse-answer.ts";

/**
 * Options of `Receiving`, which reads one answer from its first byte to its last. The head and small bodies pass through a
 * scratch buffer that all connections share. A body for a sink gathers in its own buffer, so that the small reads of a slow
 * link become larger writes.
 */
export interface ReceivingOptions {
  method: string;
  sink: Sink | null;
  buffers: Buffers;
  /** Bytes to gather in a buffer before they are passed on. */
  gatherBytes: number;
  scratch: Buffer;
  now: () => number;
  /** Shared by all answers of one connection. */
  events: ReceivingEvents;
}

export interface ReceivingEvents {
  /** Called when the head of the final answer has come. */
  onHead(): void;
  /** Called when the sink has returned a promise: nothing more may be read. */
  onHold(): void;
  onGoOn(): void;
  /** Called when the sink has taken everything and can take more. */
  onHungry(): void;
  onEnough(): void;
  /** Called when everything has been delivered. */
  onOver(): void;
  onFault(error: unknown): void;
}

const MOST_ANSWER_BYTES = 8 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

export class Receiving {
  readonly #options: ReceivingOptions;
  readonly #reader = new HeadReader();
  readonly #collected: Buffer[] = [];
  #collectedBytes = 0;
  #head: AnswerHead | null = null;
  #framing: Framing = { kind: "none" };
  #left = 0;
  #dechunker: Dechunker | null = null;
  #gathered: Gathered;
  #isHeld = false;
  #isEnded = false;
  #isStopped = false;
  #given: Buffer;
  /** `#given` was not returned by `room`, and is valid only during the present call. */
  #isGivenForNow = false;
  /** Whether nothing came after the end of the answer. */
  isClean = true;

  constructor(options: ReceivingOptions) {
    this.#options = options;
    this.#given = options.scratch;
    this.#gathered = new Gather(options.buffers, { now: options.now, mostBytes: options.gatherBytes });
  }

  /** When the oldest byte that was not delivered came; Infinity when all were. */
  get waitingSince(): number {
    return this.#gathered.waitingSince;
  }

  get hasBegun(): boolean {
    return this.#reader.hasBegun;
  }

  get head(): AnswerHead | null {
    return this.#head;
  }

  /** Whether the end of the answer can be told from its own bytes. */
  get isDelimited(): boolean {
    return this.#framing.kind !== "close";
  }

  /** Whether a promise of the sink is pending. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether more is to come and may be taken. */
  get isOpen(): boolean {
    return !this.#isEnded && !this.#isHeld && !this.#isStopped;
  }

  /** Whether the answer is in the middle of a body for the sink. */
  get isFlowing(): boolean {
    return this.#isSinking() && this.isOpen;
  }

  /** Bytes of the body still to come, as far as the head says. */
  get leftBytes(): number {
    return this.#framing.kind === "length" ? this.#left : Infinity;
  }

  get answer(): HttpAnswer {
    const headers = this.#head?.headers ?? {};
    return { status: this.#head?.status ?? 0, headers, body: Buffer.concat(this.#collected) };
  }

  #isSinking(): boolean {
    const { sink } = this.#options;
    return sink !== null && this.#head !== null && this.#head.status < 300;
  }

  /** Returns the memory for the next bytes. */
  room(): Buffer {
    const isGathering = this.#isSinking() && !this.#isEnded && !this.#isStopped;
    this.#given = isGathering ? this.#gathered.room() : this.#options.scratch;
    return this.#given;
  }

  /** Takes bytes that are valid only during this call, and copies what must stay. */
  takeCopy(bytes: Buffer): void {
    if (this.#isStopped) return;
    if (this.#framing.kind === "length" && bytes.length <= this.#left && this.#isSinking()) {
      this.#left -= bytes.length;
      this.#isEnded = this.#left === 0;
      this.#gatherCopy(bytes);
      if (this.#isEnded) this.#finish();
      return;
    }
    this.#given = bytes;
    this.#isGivenForNow = true;
    try {
      this.take(bytes.length);
    } finally {
      this.#isGivenForNow = false;
    }
  }

  /** Takes `count` bytes that came into the last `room()`. */
  take(count: number): void {
    if (this.#isStopped) return;
    if (this.#framing.kind === "length" && !this.#isForNow && count <= this.#left) {
      // Nearly all bytes come this way: there is nothing to parse.
      this.#left -= count;
      this.#isEnded = this.#left === 0;
      this.#gather(count);
      if (this.#isEnded) this.#finish();
      return;
    }
    let bytes = this.#given.subarray(0, count);
    if (this.#head === null) {
      const found = this.#reader.push(bytes);
      if (found === null) return;
      bytes = bytes.subarray(found.used);
      this.#begin(found.head);
      if (this.#isEnded) {
        if (bytes.length > 0) this.isClean = false;
        this.#finish();
        return;
      }
      if (bytes.length === 0) return;
    }
    if (this.#isEnded) {
      this.isClean = false;
      return;
    }
    const kept = this.#unframe(bytes);
    if (!this.#isSinking()) this.#collect(bytes.subarray(0, kept));
    else if (this.#isForNow) this.#gatherCopy(bytes.subarray(0, kept));
    else this.#gather(kept);
    if (this.#isEnded) this.#finish();
  }

  #begin(head: AnswerHead): void {
    const { sink, method } = this.#options;
    this.#framing = framingOf(head, method);
    this.#head = head;
    this.#options.events.onHead();
    if (this.#isSinking()) sink?.head({ status: head.status, headers: head.headers, body: NO_BYTES });
    const { kind } = this.#framing;
    if (kind === "chunked") this.#dechunker = createDechunker();
    if (this.#framing.kind === "length") {
      this.#left = this.#framing.bytes;
      const into = this.#isSinking() ? sink?.into : undefined;
      if (into !== undefined && this.#left < into.length) {
        this.#gathered = new GatherInPlace(into, this.#options.now);
      }
    }
    this.#isEnded = kind === "none" || (kind === "length" && this.#left === 0);
  }

  /** Removes the framing. Returns how many bytes of body are then at the front of `bytes`. */
  #unframe(bytes: Buffer): number {
    if (this.#framing.kind === "close") return bytes.length;
    if (this.#dechunker !== null) {
      const { kept, used, ended } = this.#dechunker.decode(bytes);
      this.#isEnded = ended;
      if (used < bytes.length) this.isClean = false;
      return kept;
    }
    const kept = Math.min(this.#left, bytes.length);
    this.#left -= kept;
    this.#isEnded = this.#left === 0;
    if (kept < bytes.length) this.isClean = false;
    return kept;
  }

  #collect(bytes: Buffer): void {
    this.#collectedBytes += bytes.length;
    if (this.#collectedBytes > MOST_ANSWER_BYTES) throw malformed("the answer is far too long");
    this.#collected.push(Buffer.from(bytes));
  }

  get #isForNow(): boolean {
    return this.#isGivenForNow || this.#given === this.#options.scratch;
  }

  #gatherCopy(bytes: Buffer): void {
    for (let copied = 0; copied < bytes.length;) {
      const count = this.#gathered.copyIn(bytes, copied);
      copied += count;
      this.#gather(count);
      if (count === 0) return;
    }
  }

  #gather(count: number): void {
    if (count === 0) return;
    this.#gathered.add(count);
    if (!this.#isHeld) {
      if (this.#gathered.isDue) this.deliver();
    } else if (this.#gathered.roomBytes === 0 && !this.#isEnded) {
      // Cannot happen with the sizes in buffers.ts.
      throw new Fault("INTERNAL", { detail: "bytes came while nobody took them" });
    }
  }

  /** Passes the gathered bytes to the sink, unless it is busy. */
  deliver(): void {
    if (this.#isHeld || this.#isStopped) return;
    const chunk = this.#gathered.take();
    if (chunk !== null) this.#handOver(chunk);
  }

  #handOver(chunk: Buffer): void {
    if (chunk.length === 0) return;
    const { sink, events } = this.#options;
    const outcome = sink?.bytes(chunk);
    if (outcome === undefined) return;
    if (outcome === "enough") {
      this.#isStopped = true;
      events.onEnough();
      return;
    }
    this.#isHeld = true;
    events.onHold();
    outcome.then(
      () => this.#goOn(),
      (error: unknown) => {
        if (!this.#isStopped) this.#options.events.onFault(error);
      },
    );
  }

  #goOn(): void {
    if (this.#isStopped) return;
    this.#isHeld = false;
    try {
      this.#options.events.onGoOn();
      this.deliver();
      if (this.#isEnded) this.#finish();
      else if (!this.#isHeld) this.#options.events.onHungry();
    } catch (error) {
      this.#options.events.onFault(error);
    }
  }

  #finish(): void {
    this.deliver();
    if (this.#isHeld || this.#isStopped) return;
    this.#isStopped = true;
    this.#options.events.onOver();
  }

  /** Called when the other side sends no more. Returns the fault when the answer is incomplete. */
  end(): Fault | null {
    if (this.#head === null) return new Fault("LINK_DOWN", { detail: "closed before it answered" });
    if (this.#isEnded) return null;
    if (this.#framing.kind !== "close") {
      this.deliver();
      return new Fault("TRUNCATED");
    }
    this.#isEnded = true;
    this.#finish();
    return null;
  }

  /** Stops: nothing is delivered any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Returns the buffer to its pool: the socket must not write into it any more. */
  release(): void {
    this.#gathered.release();
  }
}
