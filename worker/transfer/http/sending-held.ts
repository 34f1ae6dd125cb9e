import type { Outlet } from "./tls/encrypt-directly.ts";
import { HEAD_ROOM_BYTES, type HeldBody } from "./exchange.ts";
import type { DirectSocket } from "./socket/move-directly.ts";
import type { GoingOut, SendingEvents } from "./sending.ts";

/** Sends a body that is in memory, with its head before it, in one write. */
export class SendingHeld implements GoingOut {
  readonly #body: HeldBody;
  #isTaken = false;
  #isStopped = false;

  constructor(body: HeldBody) {
    this.#body = body;
  }

  readonly reading = null;

  /** True only once the last byte was taken: a server that answers before has not read all of the body. */
  get isGiven(): boolean {
    return this.#isTaken;
  }

  get isSent(): boolean {
    return this.#isTaken;
  }

  get takenBytes(): number {
    return this.#isTaken ? this.#body.lengthBytes : 0;
  }

  /** Sends the request; may be called once. `direct`: null where only the outlet can write. */
  send(head: string, to: { outlet: Outlet; direct: DirectSocket | null; events: SendingEvents }): void {
    const { outlet, direct, events } = to;
    const whole = this.#withHead(head);
    const took = direct?.write(whole) ?? 0;
    if (took === whole.length) {
      this.#taken(events);
      return;
    }
    // The outlet writes the rest when the kernel has room. The socket's own error reports a failed write.
    outlet.write(took === 0 ? whole : whole.subarray(took), (error) => {
      if (error == null && !this.#isStopped) this.#taken(events);
    });
  }

  #withHead(head: string): Buffer {
    const { memory, lengthBytes } = this.#body;
    const from = HEAD_ROOM_BYTES - head.length;
    if (from < 0) return Buffer.concat([Buffer.from(head, "latin1"), this.#body.bytes]);
    memory.write(head, from, "latin1");
    return memory.subarray(from, HEAD_ROOM_BYTES + lengthBytes);
  }

  #taken(events: SendingEvents): void {
    this.#isTaken = true;
    events.onMoved();
    this.#body.sent(this.#body.lengthBytes);
    events.onSent(this.#body);
  }

  stop(): void {
    this.#isStopped = true;
  }

  closed(): void {
    this.stop();
  }
}
