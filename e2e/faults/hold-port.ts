import { connect, createServer, type Server, type Socket } from "node:net";

/** Keeps a port of 127.0.0.1 for somebody who does not listen on it for a while. */
export interface PortHolder {
  /** Until `release`, nobody is given the port who asks for any; who connects to it is refused. */
  hold(port: number): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

/**
 * A connection that leaves from a port has it: the system gives such a port to nobody who lets it choose, and yet takes a listener
 * there who asks for it by number. Without this a store of another trial would listen there sooner or later, and be taken
 * for ours.
 */
export async function createPortHolder(): Promise<PortHolder> {
  const ends = new Set<Socket>();
  const anchor = await new Promise<Server>((resolve, reject) => {
    const server = createServer((socket) => {
      ends.add(socket.on("error", () => undefined).on("close", () => ends.delete(socket)));
    });
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
  const address = anchor.address();
  const target = typeof address === "object" && address !== null ? address.port : 0;
  let held: Socket | null = null;
  const release = () => {
    held?.resetAndDestroy();
    held = null;
  };
  return {
    hold: (port) =>
      new Promise((resolve, reject) => {
        release();
        const options = { host: "127.0.0.1", port: target, localAddress: "127.0.0.1", localPort: port };
        const socket = connect(options, resolve);
        socket.on("error", reject);
        held = socket;
      }),
    release,
    close: async () => {
      release();
      for (const end of ends) end.destroy();
      await new Promise<void>((resolve) => anchor.close(() => resolve()));
    },
  };
}
