/** Keeps `node server/upkeep/main.ts COMMAND` working, which stands in crontabs and unit files of operators. */
import "../features/maintenance/command-line/main.ts";
