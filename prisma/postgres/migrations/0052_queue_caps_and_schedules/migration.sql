-- Most running jobs of a queue, and of one person in it; null: any number.
ALTER TABLE "JobQueue" ADD COLUMN "mostRunning" INTEGER;
ALTER TABLE "JobQueue" ADD COLUMN "mostPerOwner" INTEGER;
-- Jobs that are submitted at times of a schedule.
CREATE TABLE "JobSchedule" (
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT COLLATE "C" NOT NULL,
    "cron" TEXT COLLATE "C" NOT NULL,
    "timeZone" TEXT COLLATE "C" NOT NULL,
    "ownerId" TEXT COLLATE "C" NOT NULL,
    "owner" TEXT COLLATE "C" NOT NULL,
    "job" TEXT COLLATE "C" NOT NULL,
    "overlaps" BOOLEAN NOT NULL,
    "pausedAt" TIMESTAMP(3),
    "nextAt" TIMESTAMP(3) NOT NULL,
    "lastAt" TIMESTAMP(3),
    "lastJobId" TEXT COLLATE "C",
    "problem" TEXT COLLATE "C",
    "createdAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "JobSchedule_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "JobSchedule_name_key" ON "JobSchedule"("name");
CREATE INDEX "JobSchedule_nextAt_idx" ON "JobSchedule"("nextAt");
