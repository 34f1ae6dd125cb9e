import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { parseArgs } from "node:util";
import { openProxy, type ProxyOptions } from "#storage/testing/open-proxy.ts";
import { build } from "../gate/build.ts";
import { executableBeside } from "../faults/bundle.ts";
import { runStep } from "../gate/run-step.ts";
import { whyNoNamespace } from "../link/proxied-namespace.ts";
import { keysInEnv } from "../stage/keys-in-env.ts";
import { ROOT } from "../stage/start-process.ts";
import { startStore, type RunningStore } from "../stage/start-store.ts";

/**
 * `npm run prove -- network [--count N] [--class NAME]`: copies a file to a store and back in real-world networks. Proxies
 * require a login, cut connections or are slow; certificates have a private authority. Names have several addresses, one of
 * which is dead, slow or changes. Workers run where only a proxy leads out. Exit codes and bytes must be right.
 */

const FILE_BYTES = 24_000_007;
const FLAGS = ["--part-size", "5MiB", "--stall-after", "5s", "--retry-for", "2m"];

interface Place {
  dir: string;
  executable: string;
  store: RunningStore;
  file: string;
}

interface Copying {
  endpoint: string;
  env?: Record<string, string>;
  flags?: readonly string[];
  under?: readonly string[];
  during?: () => Promise<void>;
}

/** Returns the environment without this machine's network settings; each trial sets its own. */
const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(?:\w+_proxy|AWS_CA_BUNDLE|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS)$/i.test(name),
    ),
  ) as NodeJS.ProcessEnv;

/** Runs the executable and resolves with exit code and stderr. */
function tidemark(place: Place, args: readonly string[], { endpoint, env, flags = [], under = [] }: Copying) {
  const { store, executable, dir } = place;
  const all = [...under, executable, ...args, ...FLAGS, ...flags, "--state", join(dir, "state")];
  const [program = executable, ...rest] = all;
  const keys = keysInEnv({ ...store, endpoint });
  const child = spawn(program, rest, {
    cwd: ROOT,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...bareEnvironment(), ...keys, ...env },
  });
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
  return new Promise<{ code: number | null; said: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, said }));
  });
}

/** Copies a file to the store and back. Resolves with the problem; null when there is none. */
async function copyBoth(place: Place, copying: Copying): Promise<string | null> {
  const at = `s3://${place.store.bucket}/network/${randomBytes(6).toString("hex")}`;
  const back = join(place.dir, "back");
  rmSync(back, { force: true });
  const during = copying.during?.();
  for (const args of [
    ["cp", place.file, at],
    ["cp", at, back],
  ]) {
    const { code, said } = await tidemark(place, args, copying);
    if (code !== 0) return `${args.join(" ")} ended with ${code}: ${said.trim().split("\n").at(-1) ?? ""}`;
  }
  await during;
  return readFileSync(back).equals(readFileSync(place.file)) ? null : "what came back is not what was sent";
}

type Trial = (place: Place) => Promise<string | null>;

const LOGIN = "me:s3cret-of-the-proxy";

/** Returns a trial behind a proxy. The copies must go through it. */
const behind =
  (options: ProxyOptions): Trial =>
  async (place) => {
    const proxy = await openProxy(options);
    try {
      const url = options.login === undefined ? proxy.url : proxy.url.replace("://", `://${LOGIN}@`);
      const problem = await copyBoth(place, {
        endpoint: place.store.endpoint,
        env: { ALL_PROXY: url, NO_PROXY: "<-loopback>" },
      });
      return problem ?? (proxy.asked.length === 0 ? "nothing went through the proxy" : null);
    } finally {
      await proxy.close();
    }
  };

const refused: Trial = async (place) => {
  const proxy = await openProxy({ login: "somebody:else" });
  const url = proxy.url.replace("://", `://${LOGIN}@`);
  const copying = { endpoint: place.store.endpoint, env: { ALL_PROXY: url, NO_PROXY: "<-loopback>" } };
  const { code, said } = await tidemark(place, ["cp", place.file, `s3://${place.store.bucket}/no`], copying);
  await proxy.close();
  if (code !== 4) return `a proxy that refuses the login: exit ${code} instead of 4`;
  return said.includes("s3cret") ? "the password was said" : null;
};

async function listen(server: Server, address = "127.0.0.1", port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return (server.address() as AddressInfo).port;
}

/** Tests a private certificate authority, named in each supported way, and not named at all. */
const authorities: Trial = async (place) => {
  const at = (name: string) => join(place.dir, name);
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const about = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const out = ["-keyout", at("key.pem"), "-out", at("ca.pem")];
  execFileSync("openssl", ["req", ...kind, ...about, ...out], { stdio: "ignore" });
  const tls = { key: readFileSync(at("key.pem")), cert: readFileSync(at("ca.pem")) };
  const server = createTlsServer(tls, (client) => {
    const store = connect(place.store.port, "127.0.0.1");
    client.on("error", () => store.destroy()).pipe(store);
    store.on("error", () => client.destroy()).pipe(client);
  });
  const endpoint = `https://127.0.0.1:${await listen(server)}`;
  try {
    const { code } = await tidemark(place, ["cp", place.file, `s3://${place.store.bucket}/no`], { endpoint });
    if (code !== 4) return `a certificate that nobody trusts: exit ${code} instead of 4`;
    for (const name of ["AWS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "TIDEMARK_CA"]) {
      const problem = await copyBoth(place, { endpoint, env: { [name]: at("ca.pem") } });
      if (problem !== null) return `${name}: ${problem}`;
    }
    return await copyBoth(place, { endpoint, flags: ["--ca", at("ca.pem")] });
  } finally {
    server.close();
  }
};

/** Serves a store on several loopback addresses with the same port, each with its delay. Counts the connections of each. */
async function openAddresses(storePort: number, delays: Readonly<Record<string, number>>) {
  const counts = new Map<string, number>();
  const servers: Server[] = [];
  let port = 0;
  for (const [address, delayMs] of Object.entries(delays)) {
    const server = createServer((client) => {
      counts.set(address, (counts.get(address) ?? 0) + 1);
      const store = connect(storePort, "127.0.0.1");
      client.on("error", () => store.destroy()).on("close", () => store.destroy());
      store.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(store);
      store.on("data", (bytes: Buffer) => {
        store.pause();
        void setTimeout(delayMs).then(() => {
          if (!client.destroyed) client.write(bytes);
          store.resume();
        });
      });
    });
    port = await listen(server, address, port);
    servers.push(server);
  }
  return {
    port,
    counts,
    close: (address: string) => void servers[Object.keys(delays).indexOf(address)]?.close(),
    servers,
  };
}

/** Prepares a mount namespace whose hosts file resolves `store.example` to these addresses; `write` changes them at run time. */
function hostsFile(place: Place, addresses: readonly string[]) {
  const path = join(place.dir, "hosts");
  const write = (list: readonly string[]) =>
    writeFileSync(path, `127.0.0.1 localhost\n${list.map((address) => `${address} store.example\n`).join("")}`);
  write(addresses);
  return { write, under: ["unshare", "-m", "sh", "-c", `mount --bind ${path} /etc/hosts && exec "$@"`, "sh"] };
}

const manyAddresses =
  (about: { delays: Record<string, number>; named: string[]; changed?: string[] }): Trial =>
  async (place) => {
    const opened = await openAddresses(place.store.port, about.delays);
    const { write, under } = hostsFile(place, about.named);
    const { changed } = about;
    const during =
      changed === undefined
        ? undefined
        : async () => {
            await setTimeout(300);
            write(changed);
          };
    try {
      const endpoint = `http://store.example:${opened.port}`;
      const problem = await copyBoth(place, { endpoint, under, ...(during !== undefined && { during }) });
      const asked = Object.keys(about.delays).filter((address) => opened.counts.has(address));
      const reachable = Object.keys(about.delays).filter((address) => about.named.includes(address));
      if (problem !== null) return problem;
      return asked.length < reachable.length ? `connections went to ${asked.join(", ")} only` : null;
    } finally {
      for (const server of opened.servers) server.close();
    }
  };

const MAIN_JOB = "in a network out of which only a proxy leads";

/**
 * Runs the process test in which two workers enroll, one uploads and the other restores, in a network namespace with only a
 * proxy.
 */
const namespace: Trial = async () => {
  const which = ["--project", "process", "e2e/process/proxied.test.ts", "-t", MAIN_JOB];
  const { ok, output } = await runStep({ title: "namespace", command: ["vitest", "run", ...which] });
  if (!ok) return output.trim().split("\n").slice(-20).join("\n");
  return /Tests\s+1 passed/.test(output) ? null : `no test is called "${MAIN_JOB}"`;
};

const CLASSES: Readonly<Record<string, { trial: Trial; needsRoot?: true }>> = {
  "proxy-login": { trial: behind({ login: LOGIN }) },
  "proxy-login-socks": { trial: behind({ kind: "socks5", login: LOGIN }) },
  "proxy-login-refused": { trial: refused },
  "proxy-cut": { trial: behind({ kind: "socks5", cutAfterBytes: 3_000_000, cuts: 4 }) },
  "proxy-slow": { trial: behind({ kind: "socks5", delayMs: 700 }) },
  authorities: { trial: authorities },
  "addresses-dead": {
    trial: manyAddresses({ delays: { "127.0.0.3": 0 }, named: ["127.0.0.2", "127.0.0.3"] }),
    needsRoot: true,
  },
  "addresses-slow": {
    trial: manyAddresses({ delays: { "127.0.0.2": 60, "127.0.0.3": 1 }, named: ["127.0.0.2", "127.0.0.3"] }),
    needsRoot: true,
  },
  "addresses-changed": {
    trial: manyAddresses({
      delays: { "127.0.0.2": 1, "127.0.0.4": 1 },
      named: ["127.0.0.2"],
      changed: ["127.0.0.4"],
    }),
    needsRoot: true,
  },
  namespace: { trial: namespace, needsRoot: true },
};

/** Runs the proof and returns the exit code. */
export async function proveNetwork(argv: readonly string[]): Promise<number> {
  const options = { count: { type: "string", default: "5" }, class: { type: "string" } } as const;
  const { values } = parseArgs({ args: [...argv], options });
  const dir = mkdtempSync(join(tmpdir(), "tidemark-network-"));
  await build("dist/tidemark.mjs");
  const store = await startStore({ dataDir: join(dir, "store") });
  const file = join(dir, "file");
  writeFileSync(file, randomBytes(FILE_BYTES));
  const place: Place = { dir, executable: executableBeside(join(ROOT, "dist/tidemark.mjs")), store, file };
  let failed = 0;
  try {
    for (const [name, { trial, needsRoot }] of Object.entries(CLASSES)) {
      if (values.class !== undefined && values.class !== name) continue;
      const why = needsRoot === true ? whyNoNamespace() : null;
      if (why !== null) {
        console.log(`  ${name}: left out: ${why}`);
        continue;
      }
      const problems: string[] = [];
      for (let nth = 0; nth < Number(values.count); nth++) {
        const problem = await trial(place);
        if (problem !== null) problems.push(problem);
      }
      failed += problems.length;
      console.log(
        `  ${problems.length === 0 ? "✓" : "x"} ${name}: ${Number(values.count) - problems.length} of ${values.count}`,
      );
      for (const problem of problems) console.log(`    ${problem}`);
    }
  } finally {
    await store.stop();
    rmSync(dir, { recursive: true, force: true });
  }
  return failed === 0 ? 0 : 1;
}
