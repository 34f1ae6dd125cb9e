/** Keeps `node server/upkeep/main.ts COMMAND` working, which operators have in crontabs and unit files. */
import "../features/maintenance/command-line/main.ts";
