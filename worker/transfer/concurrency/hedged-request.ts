import { Fault } from "#protocol/faults/fault.ts";
import type { Engine } from "../engine.ts";
import type { Following } from "./hedge.ts";
import { SHED } from "./flight.ts";

export interface ToTryTwice<T> {
  signal: AbortSignal;
  lengthBytes: number;
  /** Only requests of equal `alikeBytes` are compared. Default: `lengthBytes`. */
  alikeBytes?: number;
  /** Returns whether two requests may run at the same time. Asked only when a second one would help. */
  mayRepeat(): boolean;
  /** Whether the file may be ended to make room for others. */
  mayShed: boolean;
  /** Runs one attempt. Must call `begun` with a function that ends its request, and `moved` for its bytes. */
  ask(isHedge: boolean): Promise<T>;
  /** Reports each byte of the file once; negative when the file starts over. */
  onMoved(bytes: number): void;
  /** Called when an attempt succeeds after the other one already had. */
  onTooLate?(result: T): void;
}

interface Outcome<T> {
  resolve(result: T): void;
  reject(error: unknown): void;
}

/**
 * One small file in flight, up or down: the first attempt, and a hedged request beside it when the first is late. The first
 * success counts, and the other attempt is canceled. Attempts have no AbortSignal of their own, because there may be
 * thousands of small files.
 */
export class TryTwice<T> {
  readonly #engine: Pick<Engine, "semaphore">;
  readonly #wanted: ToTryTwice<T>;
  readonly #following: Following;
  readonly #ends: ((fault: Fault) => void)[] = [];
  #running = 0;
  #outcome: Outcome<T> | null = null;
  #failure: unknown = null;
  /** Fault that ends all attempts, including one that still waits for its signature. */
  #over: Fault | null = null;
  #shownBytes = 0;

  constructor(engine: Pick<Engine, "semaphore" | "hedges">, wanted: ToTryTwice<T>) {
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

  /** Whether only one attempt with one request was made, and it has ended. */
  get wasOne(): boolean {
    return this.#ends.length === 1 && this.#running === 0;
  }

  /** Runs the attempts; may be called once. @throws Fault of `ask`; SHED */
  run(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#outcome = { resolve, reject };
      void this.#try(false);
    });
  }

  /** Registers the function that ends a request which an attempt has begun. */
  begun(end: (fault: Fault) => void): void {
    this.#ends.push(end);
    if (this.#over !== null) end(this.#over);
  }

  /** Counts bytes of the first attempt only: the progress display holds those of the hedge already. */
  moved(bytes: number, isHedge: boolean): void {
    if (isHedge) return;
    this.#following.moved(bytes);
    if (this.#outcome !== null) this.#show(bytes);
  }

  /** Takes back all bytes reported so far, because none of them counts. */
  takeBack(): void {
    this.#show(-this.#shownBytes);
  }

  #tryBeside(): void {
    const { signal } = this.#wanted;
    void this.#engine.semaphore.run({ signal, size: "large" }, () => this.#try(true)).catch(() => undefined);
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
    // Creates the Fault only when needed: it is expensive, and usually no other attempt runs.
    if (this.#running > 0) this.#endAll(new Fault("CANCELLED"));
    // Resolves before `onMoved` is called, so that a listener that throws cannot prevent it.
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
