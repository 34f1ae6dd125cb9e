import { compileEmulator, type Emulator, startEmulator, whyNoLink } from "#e2e/link/emulator.ts";
import { addNamespace, ip, type Namespace, removeLeftovers, removeNamespace, setUpTcp } from "#e2e/link/namespaces.ts";
import { BenchError } from "../bench-error.ts";
import { type EmulatedNode, type StoreName, STORES } from "./emulated-fleet.ts";

/**
 * The network of an emulated fleet: a namespace for every node and every store, and a link of its own between each node and
 * each store. The hub shares the namespace of the store us-east, as in one data center: nodes reach it over that link, and it
 * reaches the other stores directly.
 */
export interface Network {
  nodes: ReadonlyMap<string, Namespace>;
  stores: ReadonlyMap<StoreName, Namespace & { address: string }>;
  /**
   * Returns how many packets the emulators dropped because this machine was too slow; any value but 0 invalidates the
   * measurement.
   */
  refused: () => Promise<number>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

export const HUB_PLACE: StoreName = "us-east";
/** Network of all stores. */
export const STORE_NETWORK = "10.91.0.0/24";
const CONGESTION = "cubic";
const MOST_NODES = 200;

const storeAddress = (index: number): string => `10.91.0.${index + 1}`;
const nodeAddress = (index: number): string => `10.92.0.${index + 1}`;

/** Creates the namespaces and links. @throws CannotRun where no link can be emulated, BenchError with too many nodes */
export async function openNetwork(fleet: readonly EmulatedNode[]): Promise<Network> {
  const why = whyNoLink();
  if (why !== null) throw new BenchError(`The links cannot be emulated here: ${why}.`);
  if (fleet.length > MOST_NODES) throw new BenchError(`At most ${MOST_NODES} nodes have an address here.`);
  const program = await compileEmulator();
  await removeLeftovers();
  await using undo = new AsyncDisposableStack();
  const add = async (title: string, address: string): Promise<Namespace & { address: string }> => {
    const made = await addNamespace(title);
    undo.defer(() => removeNamespace(made.name));
    await ip("-n", made.name, "addr", "add", `${address}/32`, "dev", "lo");
    await setUpTcp(made.name, CONGESTION);
    return { ...made, address };
  };
  const stores = new Map<StoreName, Namespace & { address: string }>();
  for (const [index, store] of STORES.entries()) stores.set(store, await add(store, storeAddress(index)));
  const hub = stores.get(HUB_PLACE);
  for (const [store, place] of stores) if (hub !== undefined && store !== HUB_PLACE) await joinDirectly(hub, place);
  const nodes = new Map<string, Namespace>();
  const emulators: Emulator[] = [];
  for (const [index, node] of fleet.entries()) {
    const place = await add(node.name, nodeAddress(index));
    nodes.set(node.name, place);
    for (const [number, store] of STORES.entries()) {
      const there = stores.get(store);
      if (there === undefined) continue;
      const device = `n${index + 1}s${number + 1}`;
      const ends = { client: place.file, server: there.file, device };
      emulators.push(undo.use(await startEmulator(program, ends, node.links[store])));
      await route(place, there, device);
      await route(there, place, device);
    }
  }
  const kept = undo.move();
  return {
    nodes,
    stores,
    refused: async () => {
      const counts = await Promise.all(emulators.map((emulator) => emulator.counts()));
      return counts.reduce((sum, { up, down }) => sum + up.refused + down.refused, 0);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

interface Place {
  name: string;
  address: string;
}

async function route(from: Place, to: Place, device: string): Promise<void> {
  await ip("-n", from.name, "link", "set", device, "mtu", "1500", "txqueuelen", "10000", "up");
  await ip("-n", from.name, "route", "add", `${to.address}/32`, "dev", device, "src", from.address);
}

/** Connects two namespaces by a veth pair, without delay or rate limit. */
async function joinDirectly(one: Place, other: Place): Promise<void> {
  const device = `v${other.address.split(".").at(-1)}`;
  await ip("link", "add", device, "netns", one.name, "type", "veth", "peer", "name", device, "netns", other.name);
  await route(one, other, device);
  await route(other, one, device);
}
