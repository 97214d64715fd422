/** A worker process of the demonstration. It ends when it is told to, or when the process that started it is gone. */
import { Worker } from '../../client/index.ts';
import { handleNearestHub, nearestHub } from './airports.ts';
import { calculatePayroll, handleCalculatePayroll, handleSendCheck, sendCheck } from './payroll.ts';
import { chargeOrder, handleChargeOrder, handleShipOrder, shipOrder } from './shop.ts';

const worker = new Worker({
  url: process.argv[2],
  types: {
    [calculatePayroll.type]: { concurrency: 2, handler: handleCalculatePayroll },
    [sendCheck.type]: { concurrency: 2, handler: handleSendCheck },
    [nearestHub.type]: { concurrency: 32, handler: handleNearestHub },
    [chargeOrder.type]: { concurrency: 3, handler: handleChargeOrder },
    [shipOrder.type]: { concurrency: 3, handler: handleShipOrder },
  },
});

worker.on('disconnected', () => {}); // it reconnects by itself
worker.on('failed', () => {}); // the demonstration shows it
worker.on('connected', () => process.send?.('connected'));
process.on('SIGINT', () => {}); // Ctrl-C is for the process that started this one
process.on('disconnect', () => void worker.stop());
await worker.start();
