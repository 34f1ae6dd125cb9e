import { connect, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream";

/**
 * Forwards TCP unchanged, from an address here to one there. A browser treats only its own loopback as a secure context without
 * TLS, so both ends of a link use loopback, and this program joins the two.
 */

interface Way {
  listen: string;
  connect: string;
  port: number;
}

export function forward({ listen, connect: host, port }: Way): Promise<Server> {
  const server = createServer({ noDelay: true }, (near: Socket) => {
    const far = connect({ host, port, noDelay: true });
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    pipeline(near, far, end);
    pipeline(far, near, end);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, listen, () => resolve(server));
  });
}

if (import.meta.main) {
  const [listen = "", host = "", ...ports] = process.argv.slice(2);
  await Promise.all(ports.map((port) => forward({ listen, connect: host, port: Number(port) })));
  console.log("forwarding");
}
