-- Which runs a token's nodes may write, the runs that a node named when it enrolled, and to whom a person hands a run.
ALTER TABLE "JoinToken" ADD COLUMN "runs" TEXT;
ALTER TABLE "Node" ADD COLUMN "runs" TEXT;
ALTER TABLE "Node" ADD COLUMN "namedRuns" TEXT;
ALTER TABLE "Run" ADD COLUMN "handedToId" TEXT;
ALTER TABLE "Run" ADD COLUMN "handedAt" DATETIME;
