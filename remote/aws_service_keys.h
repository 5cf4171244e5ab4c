// Keys for S3 that a service gives to a machine in a cloud, for a while.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "remote/s3_sign.h"

namespace ckpt {

// Which service to ask: STS for the role of a web identity (pods of EKS and others), or the
// endpoint of a container (ECS, EKS Pod Identity).
struct AwsService {
  std::string role_arn, token_file, session_name, sts_endpoint;  // STS
  std::string container_url, container_token, container_token_file;
  bool is_set() const { return !token_file.empty() || !container_url.empty(); }
};
// As the environment names it. Fails: kUsage: a web identity without AWS_ROLE_ARN; an address of a
// container that is neither https nor one of those that AWS reserves.
Result<AwsService> aws_service(const std::string& region);

// Asks `service`, and again when the keys are about to end. Fails: kUsage: the service refuses, or
// its token cannot be read; kIo: no answer, or one without keys.
Result<S3KeySource> keys_of_service(AwsService service);

}  // namespace ckpt
