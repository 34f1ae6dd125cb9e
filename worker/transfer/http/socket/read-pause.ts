/** Pauses and resumes the reads of a socket. Passes on changes only, because each call costs a system call. */
export class Tap {
  readonly #socket: { pause(): unknown; resume(): unknown };
  /** Null before the first call: the socket begins to read when it is connected. */
  #isOpen: boolean | null = null;

  constructor(socket: { pause(): unknown; resume(): unknown }) {
    this.#socket = socket;
  }

  /** Stops the socket from reading by itself. */
  pause(): void {
    if (this.#isOpen !== false) this.#socket.pause();
    this.#isOpen = false;
  }

  /** Lets the socket read by itself. */
  resume(): void {
    if (this.#isOpen !== true) this.#socket.resume();
    this.#isOpen = true;
  }
}
