import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { parseArgs } from "node:util";
import { randomFrom } from "#protocol/base/random-from.ts";
import { build } from "../gate/build.ts";
import { executableBeside } from "../faults/bundle.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { ROOT, startProcess } from "../stage/start-process.ts";
import { startStore } from "../stage/start-store.ts";

/**
 * `npm run prove -- tls [--count N] [--seed N]`: copies a file to a store behind TLS and back. Its connections are reset,
 * closed, stalled and corrupted below the encryption. Every copy must exit with 0, the bytes must be equal, and no process may
 * die by a signal.
 */

const FILE_BYTES = 60_000_007;
const FLAGS = ["--part-size", "5MiB", "--stall-after", "3s", "--retry-for", "2m"];

type Trouble = "reset" | "closed" | "held" | "damaged";
/** Faults with their shares of all connections; the other connections stay intact. */
const SHARES: readonly (readonly [Trouble, number])[] = [
  ["reset", 0.15],
  ["closed", 0.1],
  ["held", 0.1],
  ["damaged", 0.15],
];

const portOf = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

/** Destroys each socket when the other one ends. */
function tie(a: Socket, b: Socket): void {
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const)
    one.on("error", () => other.destroy()).on("close", () => other.destroy());
}

interface Certificate {
  /** PEM. */
  key: Buffer;
  cert: Buffer;
  file: string;
}

/** Makes a self-signed certificate for 127.0.0.1, valid for a day. @throws Error without openssl */
function makeCertificate(dir: string): Certificate {
  const [keyFile, file] = [join(dir, "key.pem"), join(dir, "authority.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const about = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  execFileSync("openssl", ["req", ...kind, ...about, "-keyout", keyFile, "-out", file], { stdio: "ignore" });
  return { key: readFileSync(keyFile), cert: readFileSync(file), file };
}

/** Starts a TLS proxy in front of the store. Resolves with its port. */
function openTls(storePort: number, { key, cert }: Certificate): Promise<number> {
  return portOf(
    createTlsServer({ key, cert }, (client) => {
      const store = connect(storePort, "127.0.0.1");
      tie(client, store);
      client.pipe(store);
      store.pipe(client);
    }),
  );
}

/** Starts a TCP proxy to `port` that injects faults, and counts them in `seen`. Resolves with its port. */
function openTrouble(port: number, about: { random: () => number; seen: Map<Trouble, number> }): Promise<number> {
  const { random, seen } = about;
  const choose = (): Trouble | null => {
    let rest = random();
    for (const [trouble, share] of SHARES) if ((rest -= share) < 0) return trouble;
    return null;
  };
  return portOf(
    createServer((client) => {
      const server = connect(port, "127.0.0.1");
      tie(client, server);
      const trouble = choose();
      let left = trouble === null ? Infinity : 20_000 + random() * 4_000_000;
      let isOver = false;
      const pass = (from: Socket, to: Socket) => (bytes: Buffer) => {
        if (isOver && trouble === "held") return;
        left -= bytes.length;
        let passed = bytes;
        if (left < 0 && !isOver && trouble !== null) {
          isOver = true;
          seen.set(trouble, (seen.get(trouble) ?? 0) + 1);
          if (trouble === "reset") client.resetAndDestroy();
          if (trouble === "closed") client.end();
          if (trouble === "damaged") {
            passed = Buffer.from(bytes);
            const at = passed.length >> 1;
            passed.writeUInt8(passed.readUInt8(at) ^ 1, at);
          }
          if (trouble !== "damaged") return;
        }
        if (to.writable && !to.write(passed)) {
          from.pause();
          to.once("drain", () => from.resume());
        }
      };
      client.on("data", pass(client, server)).on("end", () => server.end());
      server.on("data", pass(server, client)).on("end", () => client.end());
    }),
  );
}

/** Runs the proof and returns the exit code. */
export async function proveTlsFaults(argv: readonly string[]): Promise<number> {
  const options = { count: { type: "string", default: "20" }, seed: { type: "string", default: "1" } } as const;
  const { values } = parseArgs({ args: [...argv], strict: true, options });
  const [count, seed] = [Number(values.count), Number(values.seed)];
  await build("dist/tidemark.mjs");
  const program = executableBeside(join(ROOT, "dist/tidemark.mjs"));
  const dir = mkdtempSync(join(tmpdir(), "tidemark-tls-"));
  const store = await startStore({ dataDir: join(dir, "store"), flags: ["--no-fsync"] });
  const seen = new Map<Trouble, number>();
  const certificate = makeCertificate(dir);
  const port = await openTrouble(await openTls(store.port, certificate), { random: randomFrom(seed), seen });
  const env = {
    ...keysInEnv({ ...store, endpoint: `https://127.0.0.1:${port}` }),
    NODE_EXTRA_CA_CERTS: certificate.file,
  };
  const copy = async (from: string, to: string): Promise<string | null> => {
    const args = ["cp", "--state", join(dir, "state"), ...FLAGS, from, to];
    const running = await startProcess({ title: "cp", entry: program, args, env });
    const { code, signal } = await running.exited;
    return code === 0 ? null : `${from}: ended with ${code ?? signal}\n${running.lines.slice(-5).join("\n")}`;
  };
  const bytes = randomBytes(FILE_BYTES);
  const [there, back] = [join(dir, "there.bin"), join(dir, "back.bin")];
  writeFileSync(there, bytes);
  let problems = 0;
  try {
    for (let trial = 0; trial < count; trial++) {
      const object = `s3://${store.bucket}/${trial}.bin`;
      const failed = (await copy(there, object)) ?? (await copy(object, back));
      const problem = failed ?? (readFileSync(back).equals(bytes) ? null : `${object} came back with other bytes`);
      if (problem !== null) {
        problems++;
        console.log(`  x ${problem}`);
      }
      rmSync(back, { force: true });
    }
  } finally {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  }
  const told = SHARES.map(([trouble]) => `${seen.get(trouble) ?? 0} ${trouble}`).join(", ");
  console.log(`${count - problems} of ${count} copies there and back held. Connections: ${told}.`);
  return problems === 0 && SHARES.every(([trouble]) => seen.has(trouble)) ? 0 : 1;
}
