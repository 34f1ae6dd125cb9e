-- Most running jobs of a queue, and of one person in it; null: any number.
ALTER TABLE "JobQueue" ADD COLUMN "mostRunning" INTEGER;
ALTER TABLE "JobQueue" ADD COLUMN "mostPerOwner" INTEGER;
-- Jobs that are submitted at times of a schedule.
CREATE TABLE "JobSchedule" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "cron" TEXT NOT NULL,
    "timeZone" TEXT NOT NULL,
    "ownerId" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "job" TEXT NOT NULL,
    "overlaps" BOOLEAN NOT NULL,
    "pausedAt" DATETIME,
    "nextAt" DATETIME NOT NULL,
    "lastAt" DATETIME,
    "lastJobId" TEXT,
    "problem" TEXT,
    "createdAt" DATETIME NOT NULL
);
CREATE UNIQUE INDEX "JobSchedule_name_key" ON "JobSchedule"("name");
CREATE INDEX "JobSchedule_nextAt_idx" ON "JobSchedule"("nextAt");
