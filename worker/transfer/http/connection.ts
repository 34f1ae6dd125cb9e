import { Fault, isFault } from "#protocol/faults/fault.ts";
import { faultOfNetwork } from "#storage/answers/faults.ts";
import { Channel, type ChannelEvents } from "./socket/channel.ts";
import { HeldBody, lengthOf, type UploadBody } from "./exchange.ts";
import { Flow } from "./flow.ts";
import { notConnected, type Origin } from "./socket/open-socket.ts";
import { restAfter } from "./parse-answer.ts";
import { Receiving, type ReceivingEvents } from "./receiving.ts";
import { SendingHeld } from "./sending-held.ts";
import { SendingEncrypted } from "./tls/sending-encrypted.ts";
import { answerWaitMs, bodyOf, Sending, type GoingOut, type SendingEvents, type SentBody } from "./sending.ts";
import { SmallFlow } from "./small-flow.ts";
import { createStallTimeout, type StallTimeout } from "./socket/stall-timeout.ts";
import type { Shared, Task } from "./task.ts";

/**
 * Events of a connection: one socket and the one request on it, in the states connecting -> idle <-> busy -> gone. A
 * connection in any doubt (an answer cut short, extra bytes, a request not sent to its end) is dropped and never reused.
 * Buffers return to the pool only when the socket cannot touch them any more.
 */
export interface Owner {
  onReady(connection: Connection): void;
  /** Its request has ended, and the connection can take another one. */
  onFree(connection: Connection): void;
  /** The connection is closed. `fault`: why it could not connect; null when it was connected before. */
  onGone(connection: Connection, fault: Fault | null): void;
}

/** How long a connection that never had a request is kept: servers wait longer for the first one. */
const UNUSED_REST_MS = 15_000;
/** Kernels reset the congestion window of a connection that was idle for a few of its timeouts. */
const GROWN_MS = 500;
/** Buffers filled in a row before other connections have their turn. */
const MOST_IN_A_ROW = 4;
/**
 * From a near store all that a buffer holds is passed on at a time, which saves calls. A farther one brings less at a time,
 * and after packet loss much at once on many connections: smaller chunks then use less of the CPU cache.
 */
const NEAR_MS = 5;
const FAR_GATHER_BYTES = 256 * 1024;
/** After a body up to this length the answer follows soon; after a longer one it may take seconds. */
const SOON_ANSWERED_BYTES = 1024 * 1024;
/** Bodies up to this length go out in one piece with the head. */
const SMALL_BODY_BYTES = 64 * 1024;

export class Connection {
  readonly origin: Origin;
  readonly #shared: Shared;
  readonly #owner: Owner;
  readonly #channel: Channel;
  readonly #stallTimeout: StallTimeout;
  #state: "connecting" | "idle" | "busy" | "gone" = "connecting";
  #task: Task | null = null;
  #receiving: Receiving | null = null;
  #flow: Flow | SmallFlow | null = null;
  #sending: GoingOut | null = null;
  /** Time at which the kernel had all of a request; null from the first byte of its answer on. */
  #askedAt: number | null = null;
  /** The answer is complete, but the kernel has not confirmed our last bytes yet. */
  #isOverWhenSent = false;
  #broughtBytes = 0;
  /** Start of the present request, and the bytes of its answer so far. */
  #beganAt = 0;
  #movedBytes = 0;
  #freeAt = 0;
  /** Time until which an idle connection may be reused. */
  idleUntil = 0;
  /** Events of the present request. */
  readonly #asking: SendingEvents = {
    onMoved: () => this.#stallTimeout.touch(),
    onHold: () => this.#stallTimeout.hold(),
    onGoOn: () => this.#stallTimeout.goOn(),
    onSent: (body) => this.#sent(body),
    onFault: (error) => this.#failed(error),
  };
  readonly #answering: ReceivingEvents = {
    onHead: () => this.#headCame(),
    onHold: () => {
      this.#stallTimeout.hold();
      this.#channel.tap.pause();
    },
    onGoOn: () => this.#stallTimeout.goOn(),
    onHungry: () => {
      this.#flow?.wake();
      this.#readRest();
    },
    onEnough: () => this.#enough(),
    onOver: () => this.#over(),
    onFault: (error) => this.#failed(error),
  };

  constructor(origin: Origin, shared: Shared, owner: Owner) {
    const { now, connectMs } = shared;
    this.origin = origin;
    this.#shared = shared;
    this.#owner = owner;
    this.#stallTimeout = createStallTimeout({ now, quietMs: connectMs });
    const events: ChannelEvents = {
      onReady: () => this.#ready(),
      onAnew: () => this.#stallTimeout.allow(connectMs),
      onBytes: (bytes) => this.#read(bytes.length, bytes),
      onMore: () => {
        if (this.#receiving !== null) this.#readDirectly(this.#receiving);
      },
      onEnded: () => this.#ended(),
      onBroken: (error) => this.#broken(error),
      onClosed: () => this.#closed(),
    };
    this.#channel = new Channel(origin, shared, events);
  }

  get isConnecting(): boolean {
    return this.#state === "connecting";
  }

  /** Whether the connection is past its slow start, and has not been idle so long that slow start begins anew. */
  get isGrown(): boolean {
    const { now, pace } = this.#shared;
    return this.#state === "idle" && this.#broughtBytes >= pace.growBytes && now() - this.#freeAt < GROWN_MS;
  }

  #ready(): void {
    if (this.#state !== "connecting") return;
    this.#state = "idle";
    this.idleUntil = this.#shared.now() + UNUSED_REST_MS;
    this.#owner.onReady(this);
    this.#settle();
  }

  /** Sends a request on an idle connection. */
  run(task: Task): void {
    const { buffers, scratch, now, idleMs, pacer, pace, rttEstimator } = this.#shared;
    const { method, sink, head, body } = task;
    this.#state = "busy";
    this.#task = task;
    this.#channel.ref();
    this.#stallTimeout.allow(idleMs);
    this.#isOverWhenSent = false;
    this.#beganAt = now();
    this.#movedBytes = 0;
    this.#askedAt = body === null ? now() : null;
    const receiving = new Receiving({
      method,
      sink,
      buffers,
      gatherBytes: (rttEstimator.leastMs() ?? 0) > NEAR_MS ? FAR_GATHER_BYTES : buffers.sizeBytes,
      scratch,
      now,
      events: this.#answering,
    });
    this.#receiving = receiving;
    const { onFault } = this.#answering;
    const { direct, tap } = this.#channel;
    const read = () => this.#readDirectly(receiving);
    const about = { socket: tap, receiving, broughtBytes: this.#broughtBytes, pace, rttEstimator, read, direct };
    const flow = sink?.into === undefined ? new Flow({ ...about, pacer, now, onFault }) : new SmallFlow(about);
    this.#flow = flow;
    if (body === null) this.#write(Buffer.from(head, "latin1"));
    else if (Buffer.isBuffer(body) && body.length <= SMALL_BODY_BYTES) {
      this.#write(Buffer.concat([Buffer.from(head, "latin1"), body]));
    } else if (body instanceof HeldBody) {
      const sending = new SendingHeld(body);
      this.#sending = sending;
      sending.send(head, { outlet: this.#channel.outlet, direct, events: this.#asking });
      // The rest of a single write gives no sign of progress, so its time is allowed at once.
      if (!sending.isGiven) this.#stallTimeout.allow(answerWaitMs(body, idleMs));
    } else this.#send(head, Buffer.isBuffer(body) ? bodyOf(body) : body);
    // Paused by the request before, if the connection was idle only for a moment.
    if (!flow.isAtTicks) tap.resume();
  }

  /** Writes to the socket; the outlet sends what the kernel has no room for now. */
  #write(bytes: Buffer): void {
    const { direct, outlet } = this.#channel;
    const took = direct?.write(bytes) ?? 0;
    if (took < bytes.length) outlet.write(took === 0 ? bytes : bytes.subarray(took));
  }

  #send(head: string, body: UploadBody): void {
    const { buffers, disk, now } = this.#shared;
    const { direct, outlet } = this.#channel;
    const about = { head, body, buffers, events: this.#asking };
    try {
      const encrypter = direct?.encrypter ?? null;
      const sending =
        direct === null || encrypter === null
          ? new Sending({ ...about, outlet, direct, disk, isTls: this.origin.isTls, now })
          : new SendingEncrypted({ ...about, direct, encrypter });
      this.#sending = sending;
      sending.next();
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Called when the kernel has all bytes of the request. */
  #sent(body: SentBody): void {
    this.#stallTimeout.allow(answerWaitMs(body, this.#shared.idleMs));
    this.#askedAt = body.lengthBytes <= SOON_ANSWERED_BYTES ? this.#shared.now() : null;
    if (this.#isOverWhenSent) this.#over();
    else if (body.lengthBytes <= SOON_ANSWERED_BYTES && this.#channel.direct?.isWatched === true) this.#flow?.expect();
  }

  /** Takes bytes that were read into the last `room()`, or into `first`. A sink stops further reads by pausing the socket. */
  #read(count: number, first: Buffer | null): void {
    const receiving = this.#receiving;
    const flow = this.#flow;
    if (this.#state !== "busy" || receiving === null || flow === null) {
      // The server sent bytes without a request.
      this.drop();
      return;
    }
    if (this.#askedAt !== null) {
      const { rttEstimator, now } = this.#shared;
      const tookMs = now() - this.#askedAt;
      this.#askedAt = null;
      rttEstimator.answered(tookMs);
      // At ticks the answer may have waited for the tick, so the time is no RTT.
      if (this.#sending === null && !flow.isAtTicks) rttEstimator.add(tookMs);
    }
    flow.came(count);
    this.#movedBytes += count;
    try {
      if (first === null) receiving.take(count);
      else receiving.takeCopy(first);
    } catch (error) {
      this.#failed(error);
      return;
    }
    // After the sink has run, because its time is not the network's.
    this.#stallTimeout.touch();
  }

  /** Reads what has come of the answer, up to a limit, so that other connections have their turn. */
  #readDirectly(receiving: Receiving): void {
    const { direct } = this.#channel;
    if (direct === null) return;
    try {
      for (let most = MOST_IN_A_ROW; most > 0 && receiving === this.#receiving && receiving.isOpen; most--) {
        const room = receiving.room();
        const count = direct.read(room);
        if (count === null) return;
        if (count === 0) this.#ended();
        else this.#read(count, null);
        if (count < room.length && !direct.hasMore) return;
      }
      this.#readRest();
    } catch (error) {
      this.#broken(error);
    }
  }

  /** Schedules another read: no event reports bytes that have left the kernel already. */
  #readRest(): void {
    const receiving = this.#receiving;
    if (receiving === null || this.#channel.direct?.hasMore !== true) return;
    setImmediate(() => {
      if (receiving === this.#receiving && receiving.isOpen) this.#readDirectly(receiving);
    });
  }

  /** Stops sending when the answer comes before the whole request was given to the socket. */
  #headCame(): void {
    if (this.#sending !== null && !this.#sending.isGiven) this.#sending.stop();
  }

  #over(): void {
    const task = this.#task;
    const receiving = this.#receiving;
    const sending = this.#sending;
    const head = receiving?.head ?? null;
    if (task === null || receiving === null || head === null) return;
    const isSent = sending === null || sending.isSent;
    if (!isSent && sending.isGiven) {
      this.#isOverWhenSent = true;
      return;
    }
    if (!isSent && head.status < 300) {
      this.#failed(new Fault("UNEXPECTED_ANSWER", { detail: "it answered before it had the whole body" }));
      return;
    }
    const took = {
      bytes: this.#movedBytes + (lengthOf(task.body ?? undefined) ?? 0),
      ms: this.#shared.now() - this.#beganAt,
    };
    this.#shared.addressesOf(this.origin)?.moved(this.#channel.address, took);
    const mayRest = isSent && receiving.isClean && receiving.isDelimited && this.#channel.isQuiet;
    const restMs = mayRest ? restAfter(head, this.#shared.restMs) : 0;
    if (restMs === 0) this.#leave(null);
    else this.#rest(this.#shared.now() + restMs);
    task.done(receiving.answer);
  }

  /** Whether other addresses of the origin are so much faster that this connection's place is worth more there. */
  get isSurplus(): boolean {
    return this.#shared.addressesOf(this.origin)?.isSurplus(this.#channel.address) === true;
  }

  /** Makes the connection idle again. */
  #rest(until: number): void {
    this.#channel.rest();
    this.#broughtBytes = this.#flow?.broughtBytes ?? 0;
    this.#flow?.stop();
    this.#receiving?.release();
    this.#receiving = null;
    this.#flow = null;
    this.#sending = null;
    this.#task = null;
    this.#state = "idle";
    this.#freeAt = this.#shared.now();
    this.idleUntil = until;
    this.#owner.onFree(this);
    // Deferred: usually the next request comes in this turn of the event loop.
    setImmediate(this.#settle);
  }

  readonly #settle = (): void => {
    if (this.#state !== "idle") return;
    // Reads on, to notice when the other side closes the connection.
    this.#channel.tap.resume();
    this.#channel.unref();
  };

  #enough(): void {
    const [task, receiving] = [this.#task, this.#receiving];
    this.#leave(null);
    if (receiving !== null) task?.done(receiving.answer);
  }

  #ended(): void {
    if (this.#state !== "busy" || this.#receiving === null) {
      this.#broken(new Fault("LINK_DOWN", { detail: "the other side closed the connection" }));
      return;
    }
    try {
      const fault = this.#receiving.end();
      if (fault !== null) this.#failed(fault);
    } catch (error) {
      this.#failed(error);
    }
  }

  #broken(error: unknown): void {
    if (this.#state === "connecting") this.#leave(faultOfNetwork(error, {}));
    else if (this.#state === "idle") this.#leave(null);
    else if (this.#state === "busy") {
      try {
        this.#receiving?.deliver();
        this.#failed(error);
      } catch (thrown) {
        this.#failed(thrown);
      }
    }
  }

  #failed(error: unknown): void {
    const task = this.#task;
    if (task === null) return;
    const found = faultOfNetwork(error, task.about);
    const fault = isFault(error) ? new Fault(found.code, { ...task.about, ...found.context }) : found;
    const isUnanswered = fault.code === "LINK_DOWN" && this.#receiving?.hasBegun === false;
    const { takenBytes = 0, reading = null } = this.#sending ?? {};
    this.#leave(null);
    task.fail(fault, { isUnanswered, sentBytes: takenBytes, reading });
  }

  /** Closes the connection at once. Its request gets no event. */
  drop(): void {
    if (this.#state !== "gone") this.#leave(null);
  }

  #leave(fault: Fault | null): void {
    this.#state = "gone";
    this.#task = null;
    this.#flow?.stop();
    this.#receiving?.stop();
    this.#sending?.stop();
    // A reset keeps bytes of a useless request, which the kernel still holds, off the link.
    this.#channel.close({ isReset: this.#sending !== null });
    this.#owner.onGone(this, fault);
  }

  #closed(): void {
    this.#receiving?.release();
    this.#sending?.closed();
    this.#broken(new Fault("LINK_DOWN", { detail: "the connection was closed" }));
  }

  /** Ends the connection if it was silent for too long. `lateMs`: time of it in which this process itself stood still. */
  check(lateMs: number): void {
    this.#stallTimeout.forgive(lateMs);
    const silentMs = this.#stallTimeout.tooLongMs();
    if (silentMs === null) return;
    const seconds = Math.round(silentMs / 1000);
    if (this.#state === "connecting") this.#broken(notConnected(this.origin, seconds));
    else if (this.#state === "busy") this.#failed(new Fault("STALLED", { detail: `no byte for ${seconds} s` }));
  }
}
