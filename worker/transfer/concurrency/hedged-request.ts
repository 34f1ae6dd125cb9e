import { Fault } from "#protocol/faults/fault.ts";
import type { Engine } from "../engine.ts";
import type { Following } from "./hedge.ts";
import { SHED } from "./flight.ts";

export interface ToTryTwice<T> {
  signal: AbortSignal;
  lengthBytes: number;
  /** Only those of about the same length are compared; as long as it is when left out. */
  alikeBytes?: number;
  /** Whether it may move twice at the same time. Asked when that would help. */
  mayRepeat(): boolean;
  /** To make room for others. */
  mayShed: boolean;
  /** One try. It hands out how it is ended (`begun`) and tells of its bytes (`moved`). */
  ask(isHedge: boolean): Promise<T>;
  /** Each byte of the file once; fewer again when it starts over. */
  onMoved(bytes: number): void;
  /** It got there when the other one had. */
  onTooLate?(result: T): void;
}

interface Outcome<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/**
 * A small file on its way, up or down: the first try, and when it is late a second one beside it. Whichever gets there first counts, and
 * the other is dropped. One object, and no signal of its own for each try: thousands of small files are as many.
 */
export class TryTwice<T> {
  readonly #engine: Pick<Engine, "gate">;
  readonly #wanted: ToTryTwice<T>;
  readonly #following: Following;
  readonly #ends: ((fault: Fault) => void)[] = [];
  #running = 0;
  #outcome: Outcome<T> | null = null;
  #failure: unknown = null;
  /** Why whatever has begun shall end, and what begins after that: a try may still wait for its signature. */
  #over: Fault | null = null;
  #shownBytes = 0;

  constructor(engine: Pick<Engine, "gate" | "hedges">, wanted: ToTryTwice<T>) {
    this.#engine = engine;
    this.#wanted = wanted;
    const { lengthBytes, alikeBytes = lengthBytes, mayRepeat, mayShed } = wanted;
    this.#following = engine.hedges.follow({
      lengthBytes: alikeBytes,
      mayRepeat,
      hedge: () => this.#tryBeside(),
      ...(mayShed && { shed: () => this.#endAll(SHED) }),
    });
  }

  /** There was one try, with one request, and it is over. */
  get wasOne(): boolean {
    return this.#ends.length === 1 && this.#running === 0;
  }

  /** Once. Faults: those of `ask`; SHED. */
  run(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#outcome = { resolve, reject };
      void this.#try(false);
    });
  }

  /** A request of some try is on its way: how it is ended. */
  begun(end: (fault: Fault) => void): void {
    this.#ends.push(end);
    if (this.#over !== null) end(this.#over);
  }

  /** The second try is not shown: its bytes are on the screen already. */
  moved(bytes: number, isHedge: boolean): void {
    if (isHedge) return;
    this.#following.moved(bytes);
    if (this.#outcome !== null) this.#show(bytes);
  }

  /** Nothing of it has moved after all. */
  takeBack(): void {
    this.#show(-this.#shownBytes);
  }

  #tryBeside(): void {
    const { signal } = this.#wanted;
    void this.#engine.gate.run({ signal, size: "large" }, () => this.#try(true)).catch(() => undefined);
  }

  async #try(isHedge: boolean): Promise<void> {
    if (this.#outcome === null) return;
    this.#running++;
    try {
      const result = await this.#wanted.ask(isHedge);
      this.#running--;
      this.#won(result);
    } catch (error) {
      this.#running--;
      this.#lost(error, isHedge);
    }
  }

  #won(result: T): void {
    const outcome = this.#leave(true);
    if (outcome === null) {
      this.#wanted.onTooLate?.(result);
      return;
    }
    // A fault is costly to make, and mostly there is nobody to end.
    if (this.#running > 0) this.#endAll(new Fault("CANCELLED"));
    // Whatever those do that are told of it.
    outcome.resolve(result);
    this.#show(this.#wanted.lengthBytes - this.#shownBytes);
  }

  #lost(error: unknown, isHedge: boolean): void {
    if (!isHedge || this.#failure === null) this.#failure = error;
    if (this.#running === 0) this.#leave(false)?.reject(this.#failure);
  }

  #leave(hasLanded: boolean): Outcome<T> | null {
    const outcome = this.#outcome;
    this.#outcome = null;
    if (outcome !== null) this.#following.leave(hasLanded);
    return outcome;
  }

  #endAll(fault: Fault): void {
    this.#over ??= fault;
    for (const end of this.#ends) end(fault);
  }

  #show(bytes: number): void {
    if (bytes === 0) return;
    this.#shownBytes += bytes;
    this.#wanted.onMoved(bytes);
  }
}
