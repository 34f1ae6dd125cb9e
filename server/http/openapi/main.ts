import { allInputs } from "./describe-api.ts";

/** Prints every procedure of the router with its caller and the JSON schema of its input: what `npm run prove -- strangers` asks from. */

process.stdout.write(`${JSON.stringify(allInputs())}\n`);
