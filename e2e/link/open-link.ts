import { CannotRun } from "./cannot-run.ts";
import { compileEmulator, type LaneCounts, type LinkSettings, startEmulator, whyNoLink } from "./emulator.ts";
import { addNamespace, ip, removeLeftovers, removeNamespace, setUpTcp } from "./namespaces.ts";

/**
 * A wide-area link on one machine: two network namespaces, joined by the emulator of `wan.c`. Real TCP runs through it,
 * with slow start, queues and loss recovery.
 */

export interface Link {
  clientNetns: string;
  serverNetns: string;
  serverAddress: string;
  /** Changes the link while it is up. */
  change: (settings: LinkSettings) => Promise<void>;
  counts: () => Promise<{ up: LaneCounts; down: LaneCounts }>;
  close: () => Promise<void>;
}

const DEVICE = "wan0";
const CLIENT_ADDRESS = "10.90.0.1";
const SERVER_ADDRESS = "10.90.0.2";

/**
 * @param congestion TCP's congestion control on both sides
 * @throws CannotRun when the machine cannot do it
 */
export async function openLink(settings: LinkSettings, congestion: string): Promise<Link> {
  const why = whyNoLink();
  if (why !== null) throw new CannotRun(`This case cannot run: ${why}.`);
  const program = await compileEmulator();
  await removeLeftovers();
  await using undo = new AsyncDisposableStack();
  const add = async (title: string) => {
    const made = await addNamespace(title);
    undo.defer(() => removeNamespace(made.name));
    return made;
  };
  const [client, server] = [await add("client"), await add("server")];
  const ends = { client: client.file, server: server.file, device: DEVICE };
  const emulator = undo.use(await startEmulator(program, ends, settings));
  await setUpSide(client.name, { address: CLIENT_ADDRESS, congestion });
  await setUpSide(server.name, { address: SERVER_ADDRESS, congestion });
  const kept = undo.move();
  return {
    clientNetns: client.file,
    serverNetns: server.file,
    serverAddress: SERVER_ADDRESS,
    change: emulator.change,
    counts: emulator.counts,
    close: () => kept.disposeAsync(),
  };
}

async function setUpSide(name: string, side: { address: string; congestion: string }): Promise<void> {
  await ip("-n", name, "addr", "add", `${side.address}/30`, "dev", DEVICE);
  await ip("-n", name, "link", "set", DEVICE, "mtu", "1500", "txqueuelen", "10000", "up");
  await setUpTcp(name, side.congestion);
}
