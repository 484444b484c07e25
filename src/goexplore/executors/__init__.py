"""Executors: where rollouts run."""

from goexplore.executors._processes import ProcessExecutor, available_cores
from goexplore.executors._protocol import Executor
from goexplore.executors._serial import SerialExecutor

__all__ = ["Executor", "ProcessExecutor", "SerialExecutor", "available_cores"]
