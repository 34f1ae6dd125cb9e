-- What the fleet asks of every link, advice that was put aside, and what advice and replays need of the past.
-- AlterTable
ALTER TABLE "LinkRecord" ADD COLUMN "burstRate" REAL;
ALTER TABLE "LinkRecord" ADD COLUMN "lateRate" REAL;

-- AlterTable
ALTER TABLE "Probe" ADD COLUMN "isDownSteady" BOOLEAN;
ALTER TABLE "Probe" ADD COLUMN "isUpSteady" BOOLEAN;
ALTER TABLE "Probe" ADD COLUMN "mostRttMs" REAL;

-- AlterTable
ALTER TABLE "Reallocation" ADD COLUMN "rttMs" REAL;

-- CreateTable
CREATE TABLE "LinkPolicy" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "up" REAL,
    "down" REAL,
    "rttMs" REAL,
    "version" INTEGER NOT NULL,
    "setAt" DATETIME NOT NULL,
    "setBy" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "AdviceDismissal" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "reason" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "by" TEXT NOT NULL,
    "until" DATETIME
);

-- AlterTable
ALTER TABLE "Profile" ADD COLUMN "tuneConnections" INTEGER;
ALTER TABLE "Profile" ADD COLUMN "tunePartBytes" BIGINT;
