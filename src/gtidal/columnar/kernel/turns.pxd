cimport gtidal.columnar.kernel.machine as machine

cpdef void end() noexcept
