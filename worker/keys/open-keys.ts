import { createKeyRing } from "#storage/signing/key-ring.ts";
import { fixedCredential, type Credential, type CredentialSource } from "#storage/signing/sigv4.ts";
import type { Config } from "../command-line/config.ts";
import { NO_KEYS } from "../command-line/key-facts.ts";
import { usage } from "../command-line/verb.ts";

/** As long as the SDK's own clients renew ahead. */
const AHEAD_MS = 5 * 60_000;

/** Opens the keys that a command signs with: those that were given, or those of whoever gives them out here. @throws Fault BAD_INPUT where there are none */
export function openKeys(config: Config): CredentialSource {
  const { keysFrom } = config;
  if (keysFrom === null) return fixedCredential(readCredential(config));
  const region = config.text("region");
  const ask = async (): Promise<Credential> => {
    const { askProvider } = await import("./ask-provider.ts");
    return askProvider(keysFrom, region);
  };
  return createKeyRing({
    ask,
    nameOf: ({ sessionToken, accessKeyId: id }) => sessionToken ?? id,
    aheadMs: AHEAD_MS,
    says: keysFrom.says,
    now: Date.now,
  });
}

function readCredential(config: Config): Credential {
  const accessKeyId = config.text("access-key-id");
  const secretAccessKey = config.text("secret-access-key");
  if (accessKeyId === null || secretAccessKey === null) {
    throw usage("keys", NO_KEYS);
  }
  const sessionToken = config.text("session-token");
  return { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) };
}
