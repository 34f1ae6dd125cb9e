import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installServer } from "#e2e/servers/install.ts";
import { freePort } from "#e2e/servers/run-binary.ts";
import { BenchError } from "../bench-error.ts";
import type { BenchCase } from "../cases.ts";
import { isAlive } from "#e2e/link/namespaces.ts";
import { openLink, type Link } from "#e2e/link/open-link.ts";
import { compileRaw } from "../tools/raw.ts";
import { makeCertificate } from "./make-certificate.ts";
import { type BenchServer, type ServerName, startListening, startServer } from "./start-server.ts";

/** Link, store and raw TCP server of one case, and a folder in memory that holds all files. */
export interface Stage {
  folder: string;
  server: BenchServer;
  /** Null on loopback. */
  link: Link | null;
  rawAddress: { address: string; port: number };
  [Symbol.asyncDispose]: () => Promise<void>;
}

const PREFIX = "tidemark-bench-";
const STORE_PORT = 9000;
const RAW_PORT = 9001;
const LOOPBACK = "127.0.0.1";

export interface StageOptions {
  /** TCP's congestion control on the link. */
  congestion: string;
  /** Server in place of the case's own. */
  server: ServerName | null;
}

/** Opens the stage of a case. @throws BenchError when a needed link is not possible, or the server does not start */
export async function openStage(benchCase: BenchCase, options: StageOptions): Promise<Stage> {
  const { congestion } = options;
  const name = options.server ?? benchCase.server;
  await using undo = new AsyncDisposableStack();
  const folder = await makeFolder();
  undo.defer(() => rm(folder, { recursive: true, force: true }));
  const installed = await installServer(name);
  if ("missing" in installed) throw new BenchError(`There is no S3 server to measure against: ${installed.missing}.`);

  const link = benchCase.link === null ? null : await openLink(benchCase.link, congestion);
  if (link !== null) undo.defer(() => link.close());
  const netns = link?.serverNetns ?? null;
  const address = link?.serverAddress ?? LOOPBACK;
  const ports =
    link === null ? { store: await freePort(), raw: await freePort() } : { store: STORE_PORT, raw: RAW_PORT };

  const certificate = benchCase.https ? await makeCertificate(folder, address) : null;
  const place = { netns, address, port: ports.store };
  const server = await startServer({ ...place, name, program: installed.program, folder, certificate });
  undo.defer(() => server.stop());
  const rawPlace = { netns, address, port: ports.raw };
  const rawServer = await startListening(rawPlace, {
    program: await compileRaw(),
    args: ["serve", String(ports.raw)],
    env: {},
  });
  undo.defer(() => rawServer.stop());

  const kept = undo.move();
  return {
    folder,
    server,
    link,
    rawAddress: { address, port: ports.raw },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Creates a folder, in memory where possible, so that no disk is measured. Removes what killed runs left. */
export async function makeFolder(): Promise<string> {
  const shared = "/dev/shm";
  const parent = (await stat(shared).catch(() => null)) === null ? tmpdir() : shared;
  for (const name of await readdir(parent)) {
    const owner = new RegExp(`^${PREFIX}(\\d+)$`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await rm(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `${PREFIX}${process.pid}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  return folder;
}
