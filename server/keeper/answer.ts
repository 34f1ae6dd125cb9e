import { Fault } from "#protocol/fault.ts";
import { credentialDraft, type CredentialDraft } from "#protocol/requests.ts";
import { signControlRequest } from "#storage/sign-control.ts";
import { presignOperation } from "#storage/signing.ts";
import { createMasterSecret, readMasterSecret, type MasterKeySource } from "./master-key.ts";
import { isTextPlace, type Keeper } from "./messages.ts";
import { deriveMasterKey, seal, unseal, type MasterKey } from "./seal.ts";

const CANARY_PLACE = "Canary|1|sealed";
const CANARY_TEXT = "tidemark canary v1";

/** A bucket key is never opened for anybody. @throws Fault BAD_INPUT */
function textPlaceOf(place: string): string {
  if (isTextPlace(place)) return place;
  throw new Fault("BAD_INPUT", { op: "keeper" });
}

/** The keeper's answers. `now` is the clock signatures are dated by. Nothing works before `open` has checked the key. */
export function createKeeper(source: MasterKeySource, now: () => number = Date.now): Keeper {
  let opened: MasterKey | null = null;
  const master = (): MasterKey => {
    if (opened === null) throw new Fault("INTERNAL", { op: "keeper", detail: "the master key was not checked yet" });
    return opened;
  };
  const credentialAt = (input: { place: string; sealed: string }): CredentialDraft =>
    credentialDraft.parse(JSON.parse(unseal(master(), input.place, input.sealed)));

  return {
    open: async ({ canary }) => {
      const secret = await readMasterSecret(source);
      if (canary !== null) {
        if (secret === null) throw new Fault("MASTER_KEY_MISSING");
        const key = deriveMasterKey(secret);
        if (unseal(key, CANARY_PLACE, canary) !== CANARY_TEXT) throw new Fault("MASTER_KEY_WRONG");
        opened = key;
        return { canary };
      }
      opened = deriveMasterKey(secret ?? (await createMasterSecret(source.dataFolder)));
      return { canary: seal(opened, CANARY_PLACE, CANARY_TEXT) };
    },
    seal: async ({ place, credential }) => ({ sealed: seal(master(), place, JSON.stringify(credential)) }),
    sealText: async ({ place, text }) => ({ sealed: seal(master(), textPlaceOf(place), text) }),
    openText: async ({ place, sealed }) => ({ text: unseal(master(), textPlaceOf(place), sealed) }),
    sign: async (input) => {
      const { access, lifetimeMs } = input;
      const credential = credentialAt(input);
      const nowMs = now();
      return {
        requests: input.operations.map((operation) =>
          presignOperation({ access, credential, operation, nowMs, lifetimeMs }),
        ),
      };
    },
    signRequest: async (input) => {
      const scope = { credential: credentialAt(input), region: input.region, nowMs: now() };
      return { headers: signControlRequest(input.request, scope).headers };
    },
  };
}
