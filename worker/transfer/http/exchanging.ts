import { Fault } from "#protocol/faults/fault.ts";
import type { HttpAnswer } from "#storage/s3/answers.ts";
import { reasonOf } from "#worker/base/clock.ts";
import { whenAborted } from "#worker/base/when-aborted.ts";
import type { Connection } from "./connection.ts";
import { writeHead, type About, type Exchange, type Sink } from "./exchange.ts";
import type { Origin, Target } from "./socket/open-socket.ts";
import type { Pool, Wanted } from "./pool.ts";
import type { Failing, Task } from "./task.ts";

/**
 * One request from the queue for a connection to its answer. It is sent once more, on a new connection, when the first one
 * turns out to have been closed. A single object per request, because thousands of small files are as many requests.
 */
export class Exchanging implements Task, Wanted {
  readonly #exchange: Exchange;
  readonly #pool: Pool;
  readonly #underWay: Set<Exchanging>;
  readonly #outcome: Outcome;
  readonly about: About;
  readonly method: string;
  readonly head: string;
  readonly body: Task["body"];
  readonly sink: Sink | null;
  readonly origin: Origin;
  mustBeNew = false;
  #isOnNew = false;
  #isOver = false;
  #connection: Connection | null = null;
  #leaveLine: (() => void) | null = null;
  #forgetSignal: (() => void) | null = null;

  /** Faults: those of `writeHead`. */
  constructor(wanted: ToExchange, outcome: Outcome) {
    const { exchange, sink, target, pool, underWay } = wanted;
    const { op, subject, request, body } = exchange;
    this.#exchange = exchange;
    this.#pool = pool;
    this.#underWay = underWay;
    this.#outcome = outcome;
    this.about = { op, subject };
    this.method = request.method;
    this.head = writeHead(exchange, target);
    this.body = body ?? null;
    this.sink = sink;
    this.origin = target.origin;
  }

  /** Starts the exchange; may be called once. */
  begin(): void {
    const { signal, onBegun } = this.#exchange;
    this.#forgetSignal = whenAborted(signal, () => this.end(reasonOf(signal)));
    this.#underWay.add(this);
    onBegun?.((fault) => this.end(fault));
    // `onBegun` may have ended the exchange at once.
    if (!this.#isOver) this.#acquire();
  }

  end(fault: Fault): void {
    if (this.#isOver) return;
    this.#finish();
    this.#leaveLine?.();
    this.#connection?.drop();
    this.#outcome.reject(fault);
  }

  use(found: Connection, { isNew }: { isNew: boolean }): void {
    this.#connection = found;
    this.#isOnNew = isNew;
    found.run(this);
  }

  done(answer: HttpAnswer): void {
    this.#connection = null;
    if (this.#isOver) return;
    this.#finish();
    this.#outcome.resolve(answer);
  }

  /** Ends or repeats the exchange after a failure. `how`: omitted where no connection could be made. */
  fail(fault: Fault, how?: Failing): void {
    this.#connection = null;
    if (this.#isOver) return;
    if (how === undefined) this.end(new Fault(fault.code, { ...fault.context, ...this.about }));
    else if (this.#isOnNew || !how.isUnanswered) this.end(fault);
    else if (how.reading === null) this.#again(how.sentBytes);
    else void how.reading.then(() => this.#again(how.sentBytes));
  }

  #again(sentBytes: number): void {
    if (this.#isOver) return;
    const { body } = this;
    this.#exchange.onAgain?.();
    if (body !== null && !Buffer.isBuffer(body) && sentBytes > 0) body.sent(-sentBytes);
    this.mustBeNew = true;
    this.#acquire();
  }

  #acquire(): void {
    this.#leaveLine = this.#pool.acquire(this);
  }

  #finish(): void {
    this.#isOver = true;
    this.#forgetSignal?.();
    this.#underWay.delete(this);
  }
}

export interface ToExchange {
  exchange: Exchange;
  sink: Sink | null;
  target: Target;
  pool: Pool;
  /** Exchanges that have not ended. */
  underWay: Set<Exchanging>;
}

interface Outcome {
  resolve(answer: HttpAnswer): void;
  reject(error: unknown): void;
}
