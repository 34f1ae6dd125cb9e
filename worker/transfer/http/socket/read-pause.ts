/** Whether a socket reads by itself. It is told once for each change: each costs it a question to the system. */
export class Tap {
  readonly #socket: { pause(): unknown; resume(): unknown };
  /** Null: nobody has said. Then it begins when it is connected. */
  #isOpen: boolean | null = null;

  constructor(socket: { pause(): unknown; resume(): unknown }) {
    this.#socket = socket;
  }

  /** From now on it does not. */
  pause(): void {
    if (this.#isOpen !== false) this.#socket.pause();
    this.#isOpen = false;
  }

  /** From now on it does. */
  resume(): void {
    if (this.#isOpen !== true) this.#socket.resume();
    this.#isOpen = true;
  }
}
