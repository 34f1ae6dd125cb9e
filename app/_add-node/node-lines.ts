/**
 * Makes the commands that start a worker on a node. They are complete, with the hub's address and the join token. Values are
 * quoted for the shell or file into which they are pasted.
 */

export interface NodeLinesInput {
  hubUrl: string;
  token: string;
  run: string;
  watchFolder: string;
}

export interface NodeLine {
  id: "docker" | "compose" | "dockerfile" | "salad" | "node";
  label: string;
  /** One sentence on how to use it. */
  about: string;
  text: string;
}

/** Quotes a word for a POSIX shell: unchanged when harmless, otherwise in single quotes. */
export const shellWord = (text: string): string =>
  /^[A-Za-z0-9_/:.@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const yamlWord = (text: string): string => JSON.stringify(text);

const isLoopback = (url: string): boolean => {
  const host = hostOf(url);
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
};

function hostOf(url: string): string {
  try {
    return new URL(url).hostname;
  } catch {
    return "";
  }
}

/** All container variants mount or copy this file. They are pasted in a clone of the repository, where it is built. */
const WORKER_FILE = "The file dist/tidemark comes from npm run build:worker on Linux and needs nothing else.";
const PROGRAM = "/usr/local/bin/tidemark";

/**
 * Returns whether the worker needs `--allow-http`. To a remote hub it sends its credential over plain HTTP only with that
 * flag.
 */
const needsPlainHttp = (hubUrl: string): boolean => hubUrl.startsWith("http://") && !isLoopback(hubUrl);

export function nodeLines({ hubUrl, token, run, watchFolder }: NodeLinesInput): NodeLine[] {
  const plain = needsPlainHttp(hubUrl);
  const loopback = isLoopback(hubUrl);
  const flags = ["agent", "--watch", watchFolder, "--run", run, ...(plain ? ["--allow-http"] : [])];
  const command = flags.map(shellWord).join(" ");
  const environment: [string, string][] = [
    ["TIDEMARK_HUB", hubUrl],
    ["TIDEMARK_TOKEN", token],
  ];
  const hostNetwork = loopback ? " The hub is on this machine, so the container shares its network." : "";
  return [
    {
      id: "docker",
      label: "docker run",
      about: `Starts the worker beside your training container; both see ${watchFolder}.${hostNetwork} ${WORKER_FILE}`,
      text: [
        "docker run -d --name tidemark --restart unless-stopped \\",
        ...(loopback ? ["  --network host \\"] : []),
        ...environment.map(([name, value]) => `  -e ${shellWord(`${name}=${value}`)} \\`),
        `  -v ${shellWord(`${watchFolder}:${watchFolder}`)} \\`,
        `  -v tidemark-state:/state -e TIDEMARK_STATE=/state \\`,
        `  -v "$PWD/dist/tidemark:${PROGRAM}:ro" \\`,
        `  debian:12-slim tidemark ${command}`,
      ].join("\n"),
    },
    {
      id: "compose",
      label: "compose",
      about: `A service for your compose file; mount ${watchFolder} in the training service too.${hostNetwork} ${WORKER_FILE}`,
      text: [
        "services:",
        "  tidemark:",
        "    image: debian:12-slim",
        "    restart: unless-stopped",
        ...(loopback ? ["    network_mode: host"] : []),
        `    command: [${["tidemark", ...flags].map(yamlWord).join(", ")}]`,
        "    environment:",
        ...[...environment, ["TIDEMARK_STATE", "/state"] as const].map(
          ([name, value]) => `      ${name}: ${yamlWord(value)}`,
        ),
        "    volumes:",
        `      - ${yamlWord(`${watchFolder}:${watchFolder}`)}`,
        "      - tidemark-state:/state",
        `      - ./dist/tidemark:${PROGRAM}:ro`,
        "volumes:",
        "  tidemark-state:",
      ].join("\n"),
    },
    {
      id: "dockerfile",
      label: "Dockerfile",
      about: `Puts the worker into your own image. Give the token when the container starts, not in the image. ${WORKER_FILE}`,
      text: [
        `COPY dist/tidemark ${PROGRAM}`,
        `ENV TIDEMARK_HUB=${shellWord(hubUrl)}`,
        "# at run time: TIDEMARK_TOKEN",
        `CMD ["sh", "-c", ${JSON.stringify(`tidemark ${command} & exec python train.py`)}]`,
      ].join("\n"),
    },
    {
      id: "salad",
      label: "Salad",
      about:
        "Environment of the container group, for an image made with the Dockerfile lines. One token can serve the whole group.",
      text: [
        ...environment,
        ["TIDEMARK_WATCH", watchFolder] as const,
        ["TIDEMARK_RUN", run] as const,
        ...(plain ? [["TIDEMARK_ALLOW_HTTP", "1"] as const] : []),
      ]
        .map(([name, value]) => `${name}=${value}`)
        .join("\n"),
    },
    {
      id: "node",
      label: "plain Node",
      about: "Node 22.19 or newer. The one file comes from npm run build:worker, which writes dist/tidemark.mjs.",
      text: [
        ...environment.map(([name, value]) => `${name}=${shellWord(value)} \\`),
        `node dist/tidemark.mjs ${command}`,
      ].join("\n"),
    },
  ];
}

/** Returns the command that works in a clone of the repository without a build. */
export function repositoryLine({ hubUrl, token, run, watchFolder }: NodeLinesInput): string {
  const flags = [
    "--hub",
    hubUrl,
    "--token",
    token,
    "--state",
    "./tidemark-state",
    "--watch",
    watchFolder,
    "--run",
    run,
    ...(needsPlainHttp(hubUrl) ? ["--allow-http"] : []),
  ];
  return `npm run tidemark -- agent ${flags.map(shellWord).join(" ")}`;
}
