import { spawn } from "node:child_process";
import { promisify } from "node:util";
import { fromHttp } from "@aws-sdk/credential-provider-http";
import { fromIni } from "@aws-sdk/credential-provider-ini";
import { fromTokenFile } from "@aws-sdk/credential-provider-web-identity";
import { externalDataInterceptor } from "@smithy/core/config";
import { fromContainerMetadata, fromInstanceMetadata } from "@smithy/credential-provider-imds";
import { Fault } from "#protocol/faults/fault.ts";
import type { Credential } from "#storage/signing/sigv4.ts";
import { NO_KEYS, type KeysFrom } from "../command-line/key-facts.ts";

/**
 * Asks a provider of temporary keys through the AWS SDK's credential providers. Each is called directly, not through the
 * SDK's provider chain: the chain hides why a provider failed. This module is imported lazily, because the SDK is large.
 */

/** Longer than the SDK's own retries, so that a slow answer is not a failure. */
const ANSWER_MS = 20_000;
const MOST_BYTES = 64 * 1024;

type Provider = () => Promise<{
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  expiration?: Date | undefined;
}>;

function providerOf({ kind, profile, configFile, credentialsFile }: KeysFrom, region: string | null): Provider {
  const clientConfig = region === null ? {} : { region };
  // Read again each time: `aws sso login` and other programs change these files while this process runs.
  const files = {
    ignoreCache: true,
    ...(configFile === null ? {} : { configFilepath: configFile }),
    ...(credentialsFile === null ? {} : { filepath: credentialsFile }),
  };
  switch (kind) {
    case "profile":
      return fromIni({ profile: profile ?? "default", clientConfig, ...files });
    case "web identity":
      return fromTokenFile({ clientConfig });
    case "container":
      return async () => {
        const { env } = process;
        return env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] || env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
          ? fromHttp()()
          : fromContainerMetadata({ timeout: 2000, maxRetries: 2 })();
      };
    case "instance":
      return fromInstanceMetadata({ timeout: 1000, maxRetries: 1 });
  }
}

/** Returns temporary keys. @throws Fault KEYS_REFUSED, KEYS_UNAVAILABLE; BAD_INPUT where this machine has no provider */
export async function askProvider(from: KeysFrom, region: string | null): Promise<Credential> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), ANSWER_MS);
  // The SDK has no timeout for a credential_process.
  externalDataInterceptor.getTokenRecord()["exec"] = boundedExec(stop.signal);
  try {
    const found = await Promise.race([providerOf(from, region)(), whenStopped(stop.signal)]);
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found;
    return {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      ...(expiration === undefined ? {} : { endsAt: expiration.getTime() }),
    };
  } catch (error) {
    throw faultOf(error, from);
  } finally {
    clearTimeout(timer);
    stop.abort();
  }
}

const TOO_LATE = "no answer within 20 s";

const whenStopped = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error(TOO_LATE)), { once: true }));

/** Replaces the SDK's `exec`: kills the program and its children when the signal fires, and discards its stderr. */
function boundedExec(signal: AbortSignal): object {
  const run = (command: string): Promise<{ stdout: string; stderr: string }> =>
    new Promise((resolve, reject) => {
      // Its own process group, so that children of the shell are killed too.
      const child = spawn(command, { shell: true, detached: true, stdio: ["ignore", "pipe", "ignore"] });
      const end = () => {
        try {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
        } catch {
          // The group has ended already.
        }
      };
      signal.addEventListener("abort", end, { once: true });
      let stdout = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
        if (stdout.length > MOST_BYTES) end();
      });
      child.on("error", reject);
      child.on("close", (code, killedBy) => {
        if (code === 0) resolve({ stdout, stderr: "" });
        else reject(new Error(`the program ended with ${code === null ? killedBy : `exit code ${code}`}`));
      });
    });
  return Object.assign(() => undefined, { [promisify.custom]: run });
}

const AWAY = /^(?:ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE)/;

const fieldOf = (error: unknown, name: string): unknown =>
  typeof error === "object" && error !== null ? Reflect.get(error, name) : undefined;

function statusOf(error: unknown): number {
  const status = fieldOf(fieldOf(error, "$metadata"), "httpStatusCode") ?? fieldOf(error, "statusCode");
  return typeof status === "number" ? status : 0;
}

/** Tells whether a provider could not be reached, by code, name, message or status, because the SDK wraps the cause. */
function isAway(error: unknown): boolean {
  const [code, name, message] = [fieldOf(error, "code"), fieldOf(error, "name"), fieldOf(error, "message")];
  if (typeof code === "string" && AWAY.test(code)) return true;
  if (name === "TimeoutError" || message === TOO_LATE) return true;
  // A provider that wraps another one's error keeps only the message.
  if (typeof message === "string" && /^TimeoutError\b|socket hang up/.test(message)) return true;
  const status = statusOf(error);
  return status === 429 || status >= 500;
}

/** Returns one line of an error's message, without long words that may be keys: a provider may repeat its input. */
function detailOf(error: unknown): string {
  const message = fieldOf(error, "message");
  const [line = ""] = typeof message === "string" ? message.split("\n") : [];
  const bare = line.replace(/[A-Za-z0-9+/=_-]{40,}/g, "[left out]").trim();
  const name = fieldOf(error, "name");
  const code =
    typeof name === "string" && !/^(?:Error|CredentialsProviderError|TokenProviderError)$/.test(name)
      ? `${name}: `
      : "";
  return `${code}${bare}`.slice(0, 400) || "it said nothing";
}

function faultOf(error: unknown, from: KeysFrom): Fault {
  const { kind, says } = from;
  // Most machines have no instance metadata service, or no role, so the failure means that no keys were given.
  if (kind === "instance") {
    const detail = `${NO_KEYS}; the service of this machine's cloud gives none (${detailOf(error)})`;
    return new Fault("BAD_INPUT", { op: "usage", subject: "keys", detail, cause: error });
  }
  const context = { op: "keys", subject: says, detail: detailOf(error), cause: error };
  return new Fault(isAway(error) ? "KEYS_UNAVAILABLE" : "KEYS_REFUSED", context);
}
