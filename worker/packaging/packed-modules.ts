/**
 * Modules that the bundle embeds as compressed text, by their paths from the root. They are packed together, so that the AWS SDK
 * is included only once. Each is imported dynamically only: a static import would put it into the bundle a second time.
 */
export const PACKED_MODULES = [
  "worker/commands/doctor/try-store.ts",
  "worker/commands/jobs/read-yaml.ts",
  "worker/engines/sdk-reference.ts",
  "worker/keys/ask-provider.ts",
] as const;
