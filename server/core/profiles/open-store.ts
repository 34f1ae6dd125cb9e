import type { LookupFunction } from "node:net";
import type { S3Client } from "@aws-sdk/client-s3";
import { Fault } from "#protocol/faults/fault.ts";
import type { FoundTraits } from "#protocol/wire/profiles.ts";
import { provider } from "#protocol/base/provider.ts";
import type { ProfileDraft } from "#protocol/wire/requests.ts";
import type { StoreTrust } from "#protocol/wire/store-trust.ts";
import { createControlClient, type ControlLimits } from "#storage/s3/client.ts";
import { traitsFound } from "#storage/providers/providers.ts";
import { DEFAULT_LIFETIME_MS, type StoreAccess } from "#storage/signing/signing.ts";
import type { Database } from "#prisma/open.ts";
import type { Profile, ProfileSecret } from "#prisma/client/client.ts";
import type { KeyUses } from "../api/key-uses.ts";
import { countUp, type Counters } from "#server/platform/counters.ts";
import type { Signer } from "#server/signer/messages.ts";
import { foundOf } from "./found-of.ts";
import { secretPlace } from "#server/signer/secret-place.ts";
import { lookupFor, type Reach } from "#server/platform/reach.ts";
import { keyByOf, sealedNow, type SealedNow } from "./session-keys.ts";
import type { OpenStore, Stores } from "../api/ports/stores.ts";

type Endpoints = Pick<
  ProfileDraft,
  | "endpoint"
  | "workerEndpoint"
  | "browserEndpoint"
  | "region"
  | "bucket"
  | "addressing"
  | "provider"
  | "trustCa"
  | "trustPin"
>;
type Side = "hub" | "worker" | "browser";

const endpointFor = (profile: Endpoints, side: Side): string => {
  const own = { hub: null, worker: profile.workerEndpoint, browser: profile.browserEndpoint }[side];
  return own ?? profile.endpoint;
};

/** Returns how one side reaches the store. `found` is the result of earlier tests of this store, null where none applies. */
export const accessOf = (
  profile: Endpoints,
  { side, found }: { side: Side; found: FoundTraits | null },
): StoreAccess => ({
  endpoint: endpointFor(profile, side),
  region: profile.region,
  bucket: profile.bucket,
  addressing: profile.addressing,
  traits: traitsFound(profile.provider, found),
  ...trustOf(profile),
});

/** Returns the profile's own trust settings for the store's certificate; nothing where the system's defaults apply. */
export const trustOf = ({ trustCa = null, trustPin = null }: Endpoints): { trust?: StoreTrust } =>
  trustCa === null && trustPin === null ? {} : { trust: { ca: trustCa, pin: trustPin } };

/** Returns the columns of a profile as the draft that they were entered as. */
export const draftOf = (row: Profile): ProfileDraft => ({
  name: row.name,
  provider: provider.catch("other").parse(row.provider),
  bucket: row.bucket,
  region: row.region,
  prefix: row.prefix,
  endpoint: row.endpoint,
  workerEndpoint: row.workerEndpoint,
  browserEndpoint: row.browserEndpoint,
  addressing: row.addressing === "path" ? "path" : "virtual-host",
  trustCa: row.trustCa,
  trustPin: row.trustPin,
});

/**
 * Returns an S3 client for control calls. The signing process signs every request with the key sealed for `rowId`, and
 * `lookup` connects only to permitted addresses.
 */
export function createSealedClient(
  signer: Signer,
  input: {
    access: StoreAccess;
    rowId: string;
    sealed: SealedNow;
    lookup: LookupFunction;
    limits?: ControlLimits;
    /** Called before every signature. */
    onUse?: () => Promise<void>;
  },
): S3Client {
  const { access, rowId, sealed, lookup, limits, onUse } = input;
  return createControlClient({
    access,
    lookup,
    ...(limits !== undefined && { limits }),
    signer: {
      sign: async (request) => {
        const place = secretPlace(rowId);
        await onUse?.();
        const { headers } = await signer.signRequest({ place, sealed: await sealed(), region: access.region, request });
        return { ...request, headers };
      },
    },
  });
}

/** Counts every call of a client by its outcome. */
function countCalls(client: S3Client, counters: Pick<Counters, "storeCalls">): S3Client {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        const answer = await next(args);
        countUp(counters.storeCalls, "ok");
        return answer;
      } catch (error) {
        countUp(counters.storeCalls, classOf(error));
        throw error;
      }
    },
    { step: "initialize", name: "countCalls" },
  );
  return client;
}

function classOf(error: unknown): string {
  const metadata: unknown = error instanceof Error ? Reflect.get(error, "$metadata") : null;
  const status: unknown =
    typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "httpStatusCode") : 0;
  return typeof status === "number" && status >= 300 ? `${Math.floor(status / 100)}xx` : "none";
}

/**
 * Creates the stores. They note in `keyUses` each request that the hub signs for itself; callers of `signForNode` and
 * `signForBrowser` note theirs.
 */
export function createStores(
  db: Database,
  signer: Signer,
  about: { keyUses: KeyUses; reach: Reach; counters: Pick<Counters, "storeCalls">; now: () => number },
): Stores {
  const { keyUses, reach, counters, now } = about;
  const opened = new Map<string, Promise<OpenStore>>();

  const openRow = (row: Profile & { secret: ProfileSecret }): OpenStore => {
    const draft = draftOf(row);
    const found = foundOf(row);
    const workerAccess = accessOf(draft, { side: "worker", found });
    const browserAccess = accessOf(draft, { side: "browser", found });
    const access = accessOf(draft, { side: "hub", found });
    const place = secretPlace(row.id);
    const sealed = sealedNow(
      { signer, reach, now },
      {
        rowId: row.id,
        sealed: row.secret.sealed,
        keyBy: keyByOf(row),
        name: row.name,
        bucket: row.bucket,
        region: row.region,
      },
    );
    return {
      profileId: row.id,
      profileName: row.name,
      prefix: row.prefix,
      access,
      client: countCalls(
        createSealedClient(signer, {
          access,
          rowId: row.id,
          sealed,
          lookup: lookupFor(access.endpoint, reach),
          onUse: () =>
            keyUses.note({ caller: "hub", profileId: row.id, profileName: row.name, action: "use key", times: 1 }),
        }),
        counters,
      ),
      signForNode: async (operations, { ifThere } = {}) => {
        const { traits } = workerAccess;
        const conditionalWrites = traits.conditionalWrites && ifThere !== "replace";
        const terms = { ...workerAccess, traits: { ...traits, conditionalWrites } };
        const input = { place, sealed: await sealed(), access: terms, operations: [...operations] };
        return (await signer.sign({ ...input, lifetimeMs: DEFAULT_LIFETIME_MS })).requests;
      },
      signForBrowser: async (operations, { lifetimeMs, ifThere }) => {
        const { traits } = browserAccess;
        const conditionalWrites = traits.conditionalWrites && ifThere !== "replace";
        const terms = { ...browserAccess, traits: { ...traits, conditionalWrites } };
        const key = { place, sealed: await sealed() };
        return (await signer.sign({ ...key, access: terms, operations: [...operations], lifetimeMs })).requests;
      },
    };
  };
  const load = async (profileId: string): Promise<OpenStore> => {
    const row = await db.profile.findUnique({ where: { id: profileId }, include: { secret: true } });
    if (row === null || row.secret === null) throw new Fault("NOT_FOUND", { op: "open the bucket profile" });
    return openRow({ ...row, secret: row.secret });
  };
  const forget = (profileId: string): void => {
    const store = opened.get(profileId);
    opened.delete(profileId);
    store?.then(
      ({ client }) => client.destroy(),
      () => undefined,
    );
  };
  return {
    open: (profileId) => {
      const known = opened.get(profileId);
      if (known !== undefined) return known;
      const store = load(profileId);
      opened.set(profileId, store);
      store.catch(() => opened.delete(profileId));
      return store;
    },
    forget,
    close: () => {
      for (const profileId of opened.keys()) forget(profileId);
    },
  };
}
